package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"flowgraph/flows"
)

// asked is a worker that does what it is asked for by name only.
type asked struct {
	calls []string
	err   error
	out   flows.Outcome
}

func (a *asked) note(what string, s flows.Selector, more any) (flows.Outcome, error) {
	a.calls = append(a.calls, fmt.Sprintf("%s %v %s %t %v", what, s.VChannels, s.Collection, s.All, more))
	return a.out, a.err
}

func (a *asked) Flush(ctx context.Context, s flows.Selector, wait bool) (flows.Outcome, error) {
	if _, limited := ctx.Deadline(); !limited {
		return flows.Outcome{}, errors.New("nothing limits the wait")
	}
	return a.note("flush", s, wait)
}

func (a *asked) Seal(_ context.Context, s flows.Selector, wait bool) (flows.Outcome, error) {
	return a.note("seal", s, wait)
}

func (a *asked) Pause(_ context.Context, s flows.Selector, by string) (flows.Outcome, error) {
	return a.note("pause", s, by)
}

func (a *asked) Resume(_ context.Context, s flows.Selector, by string) (flows.Outcome, error) {
	return a.note("resume", s, by)
}

// level is a log's.
type level string

func (l *level) Level() string { return string(*l) }

func (l *level) SetLevel(s string) error {
	if s != "debug" {
		return errors.New("no such level")
	}
	*l = level(s)
	return nil
}

// post asks a server that is bound to this machine.
func post(w *asked, a Access, path, body string, headers ...string) *httptest.ResponseRecorder {
	l := level("info")
	mux := http.NewServeMux()
	serveAPI(mux, Options{Control: w, LogLevel: &l, Access: a, Log: zerolog.Nop()})
	r := httptest.NewRequest("POST", "http://127.0.0.1:9090"+path, strings.NewReader(body))
	r.RemoteAddr = "192.0.2.7:1234"
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	rw := httptest.NewRecorder()
	a.guard(mux).ServeHTTP(rw, r)
	return rw
}

func TestWhatIsAskedForReachesTheWorkerAsItIs(t *testing.T) {
	done := flows.Outcome{VChannels: []flows.Asked{{VChannel: "a-0", Done: true, Segments: 2}}}
	for _, c := range []struct {
		path, body, call string
		out              flows.Outcome
		status           int
		says             string
	}{
		{"/api/flush", `{"all":true}`, "flush []  true false", done, 200, `"segments":2`},
		{"/api/flush", `{"vchannels":["a-0"],"collection":"c","wait":"30s"}`, "flush [a-0] c false true", done, 202, `"done":true`},
		{"/api/flush", `{"vchannels":["a-0","b-0"]}`, "flush [a-0 b-0]  false false", flows.Outcome{NotHere: []string{"b-0"}}, 202, `"not_here":["b-0"]`},
		{"/api/seal", `{"collection":"c"}`, "seal [] c false false", done, 200, `"done":true`},
		{"/api/pause", `{"vchannels":["a-0"]}`, "pause [a-0]  false 192.0.2.7", done, 200, `"done":true`},
		{"/api/resume", `{"all":true}`, "resume []  true 192.0.2.7", done, 200, `"done":true`},
	} {
		w := &asked{out: c.out}
		got := post(w, Access{Loopback: true}, c.path, c.body)
		if len(w.calls) != 1 || w.calls[0] != c.call || got.Code != c.status || !strings.Contains(got.Body.String(), c.says) {
			t.Errorf("%s %s: %v, %d %s", c.path, c.body, w.calls, got.Code, got.Body)
		}
	}
	if got := post(&asked{}, Access{Loopback: true}, "/api/log-level", `{"level":"debug"}`); got.Code != 200 || !strings.Contains(got.Body.String(), `{"level":"debug"}`) {
		t.Errorf("the log's level: %d %s", got.Code, got.Body)
	}
}

func TestWhatCannotBeDoneIsRefusedWithASentence(t *testing.T) {
	for _, c := range []struct {
		path, body string
		err        error
		status     int
		says       string
	}{
		{"/api/flush", `{"all":true`, nil, 400, "docs/api.md"},
		{"/api/flush", `{"everything":true}`, nil, 400, "everything"},
		{"/api/flush", `{"all":true}{"all":true}`, nil, 400, "something follows"},
		{"/api/flush", `{"collection":"` + strings.Repeat("x", bodyLimit) + `"}`, nil, 400, "too large"},
		{"/api/flush", `{"all":true,"wait":"1d"}`, nil, 400, "a time like 30s"},
		{"/api/flush", `{"all":true,"wait":"11m"}`, nil, 400, "at most"},
		{"/api/flush", `{"all":true,"wait":"-1s"}`, nil, 400, "a time like 30s"},
		{"/api/pause", `{"all":true,"wait":"1s"}`, nil, 400, "for flush and seal"},
		{"/api/log-level", `{"level":"loud"}`, nil, 400, "no such level"},
		{"/api/flush", `{}`, flows.ErrSelector, 400, "name vchannels"},
		{"/api/pause", `{"collection":"c"}`, flows.ErrWholePartition, 400, "as a whole"},
		{"/api/seal", `{"vchannels":["x-0"]}`, fmt.Errorf("%w x-0", flows.ErrNotHere), 404, "does not have x-0"},
		{"/api/seal", `{"collection":"c"}`, flows.ErrNoCollection, 404, "knows the collection"},
		{"/api/seal", `{"collection":"c"}`, flows.ErrAmbiguous, 409, "give an ID"},
		{"/api/flush", `{"all":true}`, flows.ErrNotRunning, 409, "no flow runs"},
	} {
		w := &asked{err: c.err}
		got := post(w, Access{Loopback: true}, c.path, c.body)
		if got.Code != c.status || !strings.Contains(got.Body.String(), c.says) || c.err == nil && len(w.calls) > 0 {
			t.Errorf("%s %.40s: %d %s, %v", c.path, c.body, got.Code, got.Body, w.calls)
		}
	}
}

// Whoever may look may not yet do something.
func TestOnlyWhoMayChangesAnything(t *testing.T) {
	guarded := Access{Token: func() string { return "right" }}
	for name, c := range map[string]struct {
		access  Access
		headers []string
		status  int
	}{
		"without a token, on this machine alone":  {Access{Loopback: true}, nil, 200},
		"without a token, for other machines":     {Access{}, nil, 403},
		"without the token":                       {guarded, nil, 401},
		"with another token":                      {guarded, []string{"Authorization", "Bearer wrong"}, 401},
		"with the token":                          {guarded, []string{"Authorization", "Bearer right"}, 200},
		"with the token, from somebody's page":    {guarded, []string{"Authorization", "Bearer right", "Origin", "http://stranger.example"}, 403},
		"from somebody's page, on this machine":   {Access{Loopback: true}, []string{"Sec-Fetch-Site", "cross-site"}, 403},
		"as a form of somebody's page would":      {Access{Loopback: true}, []string{"Content-Type", "text/plain"}, 400},
		"with the token, on this machine's alone": {Access{Loopback: true, Token: guarded.Token}, []string{"Authorization", "Bearer right"}, 200},
	} {
		for _, path := range []string{"/api/flush", "/api/seal", "/api/pause", "/api/resume"} {
			w := &asked{}
			got := post(w, c.access, path, `{"all":true}`, c.headers...)
			if got.Code != c.status || (len(w.calls) > 0) != (c.status == 200) {
				t.Errorf("%s %s: %d %s, %v", path, name, got.Code, got.Body, w.calls)
			}
		}
		if c.status != 200 {
			if got := post(&asked{}, c.access, "/api/log-level", `{"level":"debug"}`, c.headers...); got.Code != c.status {
				t.Errorf("/api/log-level %s: %d %s", name, got.Code, got.Body)
			}
		}
	}
	r := httptest.NewRequest("POST", "http://rebound.example/api/flush", strings.NewReader(`{"all":true}`))
	rw := httptest.NewRecorder()
	Handler(Options{Control: &asked{}, Access: Access{Loopback: true}, Log: zerolog.Nop()}).ServeHTTP(rw, r)
	if rw.Code != http.StatusMisdirectedRequest {
		t.Errorf("by another name: %d", rw.Code)
	}
}
