package kafka

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"flowgraph/internal/reread"
)

// OAuth says how tokens are got: by the client credentials grant (RFC 6749,
// section 4.4).
type OAuth struct {
	TokenURL     string
	ClientID     string
	ClientSecret func() string // asked at each request
	Scope        string        // "" for the server's default
	Extensions   map[string]string
}

// ErrToken: the authorization server gave no token.
var ErrToken = errors.New("no token from the authorization server")

const (
	tokenTimeout = 10 * time.Second
	maxTokenSize = 1 << 20
	maxWords     = 1000 // of what a server says of an error
	// A token is replaced when a fifth of its life is left, or this if that is less.
	tokenMargin = time.Minute
	// What a server says nothing about is used at most so long.
	tokenDefault = 5 * time.Minute
)

// tokens hold the last token until shortly before it expires. Many connections
// log in at once when a broker comes back: one of them asks, the rest wait.
type tokens struct {
	cfg    OAuth
	client *http.Client
	log    zerolog.Logger

	mu    sync.Mutex
	token string
	until time.Time
	ends  time.Time // when the token expires
}

func newTokens(cfg OAuth, caFile string, log zerolog.Logger) (*tokens, error) {
	secure, err := reread.Trusting(caFile)
	if err != nil {
		return nil, fmt.Errorf("--kafka-ca-file: %w", err)
	}
	return &tokens{cfg: cfg, log: log, client: &http.Client{
		Timeout:   tokenTimeout,
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: secure, DisableKeepAlives: true},
		// The secret must not follow to wherever a server points.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// get returns a token that is valid now. One that could not be replaced in
// time is used to its end.
func (t *tokens) get(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if now.Before(t.until) {
		return t.token, nil
	}
	token, life, err := t.fetch(ctx)
	if err != nil {
		if now.Before(t.ends) {
			t.log.Warn().Err(err).Msg("the Kafka token is not replaced; the old one is used to its end")
			return t.token, nil
		}
		return "", err
	}
	t.token, t.until, t.ends = token, now.Add(life-min(life/5, tokenMargin)), now.Add(life)
	return token, nil
}

// tokenReply is what the server answers, with a token or with an error.
type tokenReply struct {
	AccessToken string  `json:"access_token"`
	ExpiresIn   float64 `json:"expires_in"` // seconds
	Error       string  `json:"error"`
	Description string  `json:"error_description"`
}

func (t *tokens) fetch(ctx context.Context) (token string, life time.Duration, err error) {
	form := url.Values{"grant_type": {"client_credentials"}}
	if t.cfg.Scope != "" {
		form.Set("scope", t.cfg.Scope)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.cfg.TokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return "", 0, fmt.Errorf("%w: %w", ErrToken, err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	req.SetBasicAuth(url.QueryEscape(t.cfg.ClientID), url.QueryEscape(t.cfg.ClientSecret()))
	resp, err := t.client.Do(req)
	if err != nil {
		return "", 0, fmt.Errorf("%w: %w", ErrToken, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxTokenSize))
	if err != nil {
		return "", 0, fmt.Errorf("%w: %s: %w", ErrToken, t.cfg.TokenURL, err)
	}
	return t.read(resp, body)
}

// read takes the token out of a reply. Errors do not repeat the body, which
// may hold one.
func (t *tokens) read(resp *http.Response, body []byte) (string, time.Duration, error) {
	var reply tokenReply
	notJSON := json.Unmarshal(body, &reply)
	switch {
	case reply.Error != "":
		// Some servers say back what they were sent.
		words := strings.ReplaceAll(reply.Error+" "+reply.Description, t.cfg.ClientSecret(), "(hidden)")
		return "", 0, fmt.Errorf("%w: %s answers %s: %s", ErrToken, t.cfg.TokenURL, resp.Status, words[:min(len(words), maxWords)])
	case resp.StatusCode != http.StatusOK:
		return "", 0, fmt.Errorf("%w: %s answers %s", ErrToken, t.cfg.TokenURL, resp.Status)
	case notJSON != nil || reply.AccessToken == "":
		return "", 0, fmt.Errorf("%w: %s answers without an access_token", ErrToken, t.cfg.TokenURL)
	}
	life := time.Duration(reply.ExpiresIn * float64(time.Second))
	if life <= 0 {
		life = tokenDefault
	}
	return reply.AccessToken, life, nil
}
