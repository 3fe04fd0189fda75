package sinks_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"flowgraph/checkpoints"
)

// A store, or a proxy before it, that says back what it was sent: its words go
// to logs and to the page, our keys must not.
func TestAStoresWordsHoldOurKeys(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, "<Error><Code>AccessDenied</Code><Message>no: %v %s</Message></Error>", r.Header, strings.Repeat("and so on ", 1000))
	}))
	defer s.Close()
	cfg := fastConfig(s.URL)
	cfg.AccessKey, cfg.SecretKey, cfg.SessionToken = "MARKER-access", "MARKER-secret", "MARKER-token"
	_, err := newBucket(t, cfg).Put(t.Context(), "k", object("x"), checkpoints.Condition{Refusals: 1})
	if err == nil || strings.Contains(err.Error(), "MARKER") || !strings.Contains(err.Error(), "(hidden)") {
		t.Errorf("the error is %v", err)
	}
	if n := len(err.Error()); n > 2000 {
		t.Errorf("%d bytes of words", n)
	}
}
