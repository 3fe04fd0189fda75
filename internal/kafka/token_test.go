package kafka

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// issuer is an authorization server whose answers a test decides.
type issuer struct {
	*httptest.Server
	asked  int
	answer func(w http.ResponseWriter)
}

func newIssuer(t *testing.T) *issuer {
	i := &issuer{}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.asked++
		id, secret, _ := r.BasicAuth()
		if r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "kafka read" || id != "an%3Aid" || !strings.HasPrefix(secret, "s%26") {
			t.Errorf("asked with %v by %s, %s", r.Form, id, secret)
		}
		i.answer(w)
	}))
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) tokens(t *testing.T, secret func() string) *tokens {
	t.Helper()
	out, err := newTokens(OAuth{TokenURL: i.URL, ClientID: "an:id", ClientSecret: secret, Scope: "kafka read"}, "", zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func gives(token string, life int) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { fmt.Fprintf(w, `{"access_token":%q,"expires_in":%d}`, token, life) }
}

func TestATokenIsAskedForAtEveryConnectionOrUsedBeyondItsEnd(t *testing.T) {
	i := newIssuer(t)
	tokens := i.tokens(t, func() string { return "s&1" })
	i.answer = gives("one", 3600)
	for range 3 {
		if token, err := tokens.get(t.Context()); err != nil || token != "one" {
			t.Fatal(token, err)
		}
	}
	if i.asked != 1 {
		t.Errorf("asked %d times", i.asked)
	}
	tokens.until = tokens.until.Add(-2 * 3600e9) // it is to be replaced
	i.answer = func(w http.ResponseWriter) { http.Error(w, "down", http.StatusBadGateway) }
	if token, err := tokens.get(t.Context()); err != nil || token != "one" {
		t.Errorf("while the server is down and the token lives: %q, %v", token, err)
	}
	tokens.ends = tokens.until
	if token, err := tokens.get(t.Context()); !errors.Is(err, ErrToken) || !strings.Contains(err.Error(), "502") {
		t.Errorf("after its end: %q, %v", token, err)
	}
	i.answer = gives("two", 3600)
	if token, err := tokens.get(t.Context()); err != nil || token != "two" {
		t.Errorf("%q, %v", token, err)
	}
}

func TestARefusedTokenSaysWhatTheServerSaidAndNoSecret(t *testing.T) {
	i := newIssuer(t)
	const secret = "s&ecret-4411"
	for want, answer := range map[string]func(w http.ResponseWriter){
		"invalid_client no such client": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":"invalid_client","error_description":"no such client"}`)
		},
		"without an access_token": func(w http.ResponseWriter) { fmt.Fprint(w, "<html>"+secret) },
		"302 Found": func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://stranger.invalid/")
			w.WriteHeader(http.StatusFound)
		},
	} {
		i.answer = answer
		_, err := i.tokens(t, func() string { return secret }).get(t.Context())
		if !errors.Is(err, ErrToken) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%q is not in: %v", want, err)
		}
		explained := Config{SASL: OAuthBearer}.Explain(err)
		if !errors.Is(explained, ErrRefused) || !strings.Contains(explained.Error(), "--kafka-oauth-token-url") {
			t.Errorf("explained as %v", explained)
		}
	}
}

func TestASecretOfTheTokenServerIsReplacedWithoutARestart(t *testing.T) {
	i := newIssuer(t)
	secret := "s&1"
	tokens := i.tokens(t, func() string { return secret })
	i.answer = func(w http.ResponseWriter) { w.WriteHeader(http.StatusUnauthorized) }
	if _, err := tokens.get(t.Context()); err == nil {
		t.Fatal("no error")
	}
	secret = "s&2"
	i.answer = gives("one", 60)
	if token, err := tokens.get(t.Context()); err != nil || token != "one" {
		t.Error(token, err)
	}
}

func TestATokenServerThatHangsHoldsUpNobodyForEver(t *testing.T) {
	i := newIssuer(t)
	ctx, cancel := context.WithCancel(t.Context())
	i.Config.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		r.FormValue("") // only who has read the body sees the client go
		cancel()
		<-r.Context().Done()
	})
	if _, err := i.tokens(t, func() string { return "s&" }).get(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
