package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func guarded(a Access) http.Handler {
	return a.guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("answered")) }))
}

// ask sends a request by way of a guard and returns its status.
func ask(a Access, method, url string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, url, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	guarded(a).ServeHTTP(w, r)
	return w
}

func TestATokenIsAskedForEverywhereButByProbes(t *testing.T) {
	token := "s3cret"
	a := Access{Token: func() string { return token }}
	for _, c := range []struct {
		url    string
		header string
		want   int
	}{
		{"http://flowgraph/healthz", "", 200},
		{"http://flowgraph/readyz", "", 200},
		{"http://flowgraph/metrics", "", 200},
		{"http://flowgraph/", "", 401},
		{"http://flowgraph/api/vchannels", "", 401},
		{"http://flowgraph/debug/pprof/", "", 401},
		{"http://flowgraph/healthz/../api/vchannels", "", 401},
		{"http://flowgraph/api/vchannels", "Bearer s3cret", 200},
		{"http://flowgraph/api/vchannels", "Bearer s3cre", 401},
		{"http://flowgraph/api/vchannels", "Bearer ", 401},
		{"http://flowgraph/api/vchannels", "s3cret", 401},
		{"http://flowgraph/api/vchannels?token=s3cret", "", 401},
	} {
		w := ask(a, "GET", c.url, "Authorization", c.header)
		if w.Code != c.want {
			t.Errorf("%s with %q: status %d, want %d", c.url, c.header, w.Code, c.want)
		}
		if w.Code == 401 && (!strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Basic ") || strings.Contains(w.Body.String(), token)) {
			t.Errorf("%s: %v %s", c.url, w.Header(), w.Body)
		}
	}
	r := httptest.NewRequest("GET", "http://flowgraph/", nil)
	r.SetBasicAuth("anybody", token)
	w := httptest.NewRecorder()
	guarded(a).ServeHTTP(w, r)
	if w.Code != 200 {
		t.Errorf("a browser's login: status %d", w.Code)
	}
	token = "another" // replaced while the server runs
	if w := ask(a, "GET", "http://flowgraph/", "Authorization", "Bearer s3cret"); w.Code != 401 {
		t.Errorf("the old token: status %d", w.Code)
	}
	a.Metrics = true
	if w := ask(a, "GET", "http://flowgraph/metrics"); w.Code != 401 {
		t.Errorf("metrics that are guarded: status %d", w.Code)
	}
}

func TestAStrangersPageCannotReadOrChangeThroughABrowser(t *testing.T) {
	a := Access{Names: []string{"flowgraph.example"}}
	for host, want := range map[string]int{
		"127.0.0.1:9090": 200, "[::1]:9090": 200, "localhost:9090": 200, "LOCALHOST": 200, "10.1.2.3": 200,
		"flowgraph.example:9090": 200, "rebound.example:9090": 421, "localhost.rebound.example": 421, "127.0.0.1.nip.example": 421, "": 421,
	} {
		r := httptest.NewRequest("GET", "http://x/api/vchannels", nil)
		r.Host = host
		w := httptest.NewRecorder()
		guarded(a).ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("asked as %q: status %d, want %d", host, w.Code, want)
		}
	}
	for _, c := range []struct {
		headers []string
		want    int
	}{
		{[]string{"Origin", "http://127.0.0.1:9090"}, 200},
		{[]string{"Sec-Fetch-Site", "same-origin"}, 200},
		{nil, 200}, // no browser
		{[]string{"Origin", "http://stranger.example"}, 403},
		{[]string{"Origin", "null"}, 403},
		{[]string{"Sec-Fetch-Site", "cross-site"}, 403},
	} {
		if w := ask(a, "POST", "http://127.0.0.1:9090/api/flush", c.headers...); w.Code != c.want {
			t.Errorf("a POST with %v: status %d, want %d", c.headers, w.Code, c.want)
		}
	}
}
