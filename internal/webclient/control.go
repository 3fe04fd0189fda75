package webclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"flowgraph/flows"
	"flowgraph/internal/web"
)

// Flush has the worker write what it has buffered of what is chosen.
func (c *Client) Flush(ctx context.Context, r web.Request) (flows.Outcome, error) {
	return post[flows.Outcome](ctx, c, r, "flush")
}

// Seal has the worker let no further row into the open segments of what is
// chosen.
func (c *Client) Seal(ctx context.Context, r web.Request) (flows.Outcome, error) {
	return post[flows.Outcome](ctx, c, r, "seal")
}

// Pause stops the reading of vchannels; r.Wait is not for it.
func (c *Client) Pause(ctx context.Context, r web.Request) (flows.Outcome, error) {
	return post[flows.Outcome](ctx, c, r, "pause")
}

// Resume ends a pause.
func (c *Client) Resume(ctx context.Context, r web.Request) (flows.Outcome, error) {
	return post[flows.Outcome](ctx, c, r, "resume")
}

// LogLevel is the least important level that the worker logs.
func (c *Client) LogLevel(ctx context.Context) (string, error) {
	l, err := get[web.Level](ctx, c, nil, "api", "log-level")
	return l.Level, err
}

// SetLogLevel changes it and returns what it is then.
func (c *Client) SetLogLevel(ctx context.Context, level string) (string, error) {
	l, err := post[web.Level](ctx, c, web.Level{Level: level}, "log-level")
	return l.Level, err
}

// post sends JSON to a path of the API.
func post[T any](ctx context.Context, c *Client, body any, path string) (answer T, err error) {
	data, err := json.Marshal(body)
	if err != nil {
		return answer, fmt.Errorf("encode the request: %w", err)
	}
	return call[T](ctx, c, http.MethodPost, nil, bytes.NewReader(data), "api", path)
}
