package webclient_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"flowgraph/flows"
	"flowgraph/internal/web"
	"flowgraph/internal/webclient"
)

// What a worker refuses must reach whoever asked, in the worker's words.
func TestRequestsGoOutWholeAndRefusalsComeBackInWords(t *testing.T) {
	var got string
	status, text := 0, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = strings.Join([]string{r.Method, r.URL.Path, r.Header.Get("Content-Type"), r.Header.Get("Authorization"), string(body)}, " ")
		w.WriteHeader(status)
		io.WriteString(w, text)
	}))
	defer server.Close()
	c, err := webclient.New(server.URL, "right", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	says := func(code int, words string) { status, text = code, words }
	r := web.Request{Selector: flows.Selector{VChannels: []string{"a-0"}}, Wait: "30s"}
	says(202, `{"vchannels":[{"vchannel":"a-0","done":true,"segments":2}],"not_here":["b-0"]}`)
	out, err := c.Seal(t.Context(), r)
	if err != nil || len(out.VChannels) != 1 || out.VChannels[0].Segments != 2 || len(out.NotHere) != 1 || out.Whole(false) {
		t.Errorf("%+v, %v", out, err)
	}
	if want := `POST /api/seal application/json Bearer right {"vchannels":["a-0"],"wait":"30s"}`; got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
	for code, want := range map[int]error{401: webclient.ErrToken, 404: webclient.ErrUnknown, 409: nil, 403: nil} {
		says(code, "a sentence\n")
		_, err := c.Flush(t.Context(), r)
		if err == nil || want != nil && !errors.Is(err, want) || want != webclient.ErrToken && !strings.HasSuffix(err.Error(), "a sentence") {
			t.Errorf("status %d: %v", code, err)
		}
	}
	says(200, "<html>")
	if _, err := c.SetLogLevel(t.Context(), "debug"); err == nil || !strings.Contains(err.Error(), "as a worker does") {
		t.Errorf("of something else: %v", err)
	}
}
