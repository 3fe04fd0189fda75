// Package webclient asks a worker what its page shows, over the API of
// --listen.
package webclient

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"flowgraph/flows"
	"flowgraph/internal/web"
)

var (
	// ErrAddress: this is no address of a worker.
	ErrAddress = errors.New("not an address of a worker, as http://127.0.0.1:9090")
	// ErrToken: the worker wants another token, or one at all.
	ErrToken = errors.New("the worker refuses the token")
	// ErrUnknown: the worker does not have what was asked for.
	ErrUnknown = errors.New("not there")
)

// most is how many bytes an answer may have: 5,000 segments are below 4 MiB.
const most = 64 << 20

// Client asks one worker. It may be used by many goroutines.
type Client struct {
	base  *url.URL
	token string
	http  *http.Client
}

// New makes a client for a worker's address, as http://127.0.0.1:9090 or
// 127.0.0.1:9090. The token may be empty, tls nil for the system's defaults.
func New(address, token string, tls *tls.Config) (*Client, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	base, err := url.Parse(address)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, ErrAddress // not the address: it may hold a password
	}
	base.User = nil
	base.RawQuery, base.Fragment = "", ""
	transport := &http.Transport{
		TLSClientConfig: tls, ForceAttemptHTTP2: true,
		MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: 5 * time.Second,
	}
	return &Client{base: base, token: token, http: &http.Client{Transport: transport}}, nil
}

// Address is where the worker is, without a path.
func (c *Client) Address() string { return c.base.Scheme + "://" + c.base.Host }

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Worker asks for the worker's own state, the store's and the sums.
func (c *Client) Worker(ctx context.Context) (web.Overview, error) {
	return get[web.Overview](ctx, c, nil, "api", "worker")
}

// VChannels asks for all vchannels of the worker, by name.
func (c *Client) VChannels(ctx context.Context) ([]flows.FlowStatus, error) {
	return get[[]flows.FlowStatus](ctx, c, nil, "api", "vchannels")
}

// VChannel asks for one vchannel and so many of its segments; ErrUnknown if
// the worker does not have it.
func (c *Client) VChannel(ctx context.Context, name string, segments int) (web.OneVChannel, error) {
	return get[web.OneVChannel](ctx, c, url.Values{"limit": {strconv.Itoa(segments)}}, "api", "vchannels", name)
}

// Events asks for the newest events after a sequence number, oldest first.
func (c *Client) Events(ctx context.Context, after uint64, limit int) (flows.Events, error) {
	return get[flows.Events](ctx, c, url.Values{"after": {strconv.FormatUint(after, 10)}, "limit": {strconv.Itoa(limit)}}, "api", "events")
}

// get asks for what it may see.
func get[T any](ctx context.Context, c *Client, query url.Values, path ...string) (T, error) {
	return call[T](ctx, c, http.MethodGet, query, nil, path...)
}

// call asks and decodes the answer. A path's elements are escaped.
func call[T any](ctx context.Context, c *Client, method string, query url.Values, body io.Reader, path ...string) (answer T, err error) {
	text, err := c.do(ctx, method, query, body, path...)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return answer, fmt.Errorf("%s does not answer as a worker does: %w", c.Address(), err)
	}
	return answer, nil
}

// do sends one request and returns the body of its answer.
func (c *Client) do(ctx context.Context, method string, query url.Values, body io.Reader, path ...string) ([]byte, error) {
	escaped := make([]string, len(path))
	for i, p := range path {
		escaped[i] = url.PathEscape(p)
	}
	address := *c.base.JoinPath(escaped...)
	address.RawQuery = query.Encode()
	r, err := http.NewRequestWithContext(ctx, method, address.String(), body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, unwrapped(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, most))
	switch {
	case err != nil:
		return nil, err
	case answer.StatusCode/100 == 2:
		return text, nil
	case answer.StatusCode == http.StatusUnauthorized:
		return nil, ErrToken
	case answer.StatusCode == http.StatusNotFound:
		return nil, fmt.Errorf("%w: %s", ErrUnknown, firstLine(text))
	}
	return nil, fmt.Errorf("%s: %s", answer.Status, firstLine(text))
}

// unwrapped takes off what the HTTP client puts before an error: method and
// address are known to whoever asked.
func unwrapped(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	if len(line) > 300 {
		line = line[:300]
	}
	return line
}
