package kafka

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// A server that says back what it was sent must not bring the secret into a log.
func TestATokenServersWordsHoldTheSecret(t *testing.T) {
	const secret = "MARKER-5f1c"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":"invalid_client","error_description":"no: %s"}`, password)
	}))
	defer s.Close()
	tokens, err := newTokens(OAuth{TokenURL: s.URL, ClientID: "i", ClientSecret: func() string { return secret }}, "", zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	_, err = tokens.get(t.Context())
	if err == nil || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "no: (hidden)") {
		t.Errorf("the error is %v", err)
	}
}
