package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"time"

	"flowgraph/flows"
)

// Control is what may be asked of a worker besides what it shows. All of it
// returns when its context ends, with what was reached by then.
type Control interface {
	Flush(ctx context.Context, s flows.Selector, wait bool) (flows.Outcome, error)
	Seal(ctx context.Context, s flows.Selector, wait bool) (flows.Outcome, error)
	Pause(ctx context.Context, s flows.Selector, by string) (flows.Outcome, error)
	Resume(ctx context.Context, s flows.Selector, by string) (flows.Outcome, error)
}

// LogLevel is the least important level that is logged.
type LogLevel interface {
	Level() string
	// SetLevel refuses what is no level with a sentence.
	SetLevel(level string) error
}

// Request is the body of a request that changes something.
type Request struct {
	flows.Selector
	Wait string `json:"wait,omitempty"` // as 30s: for the commit, so long at most
}

// Level is the body and the answer of /api/log-level.
type Level struct {
	Level string `json:"level"`
}

const (
	bodyLimit = 64 << 10 // bytes
	// obeyWait is how long a flow may take to get to what it is asked for;
	// it may be held up by a store that is away.
	obeyWait = 5 * time.Second
	waitMost = 10 * time.Minute
)

// serveControl answers what changes something.
func (a *api) serveControl(mux *http.ServeMux) {
	if a.Control != nil {
		c := a.Control
		mux.HandleFunc("POST /api/flush", a.changes(waiting(c.Flush)))
		mux.HandleFunc("POST /api/seal", a.changes(waiting(c.Seal)))
		mux.HandleFunc("POST /api/pause", a.changes(held(c.Pause)))
		mux.HandleFunc("POST /api/resume", a.changes(held(c.Resume)))
	}
	if a.LogLevel != nil {
		mux.HandleFunc("GET /api/log-level", func(rw http.ResponseWriter, _ *http.Request) { a.send(rw, Level{a.LogLevel.Level()}) })
		mux.HandleFunc("POST /api/log-level", a.permitted(a.setLevel))
		mux.HandleFunc("PUT /api/log-level", a.permitted(a.setLevel))
	}
}

// command is one request to the worker, in the name of by.
type command func(ctx context.Context, r Request, by string) (flows.Outcome, error)

// waiting makes a command of what can be waited for.
func waiting(ask func(context.Context, flows.Selector, bool) (flows.Outcome, error)) command {
	return func(ctx context.Context, r Request, _ string) (flows.Outcome, error) {
		wait, err := r.wait()
		if err != nil {
			return flows.Outcome{}, err
		}
		ctx, cancel := context.WithTimeout(ctx, cmp.Or(wait, obeyWait))
		defer cancel()
		return ask(ctx, r.Selector, wait > 0)
	}
}

func held(ask func(context.Context, flows.Selector, string) (flows.Outcome, error)) command {
	return func(ctx context.Context, r Request, by string) (flows.Outcome, error) {
		if r.Wait != "" {
			return flows.Outcome{}, errors.New(`"wait" is for flush and seal: a pause is answered once it is in force`)
		}
		ctx, cancel := context.WithTimeout(ctx, obeyWait)
		defer cancel()
		return ask(ctx, r.Selector, by)
	}
}

// wait is 0 if nobody waits for a commit.
func (r Request) wait() (time.Duration, error) {
	if r.Wait == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(r.Wait)
	if err != nil || d <= 0 || d > waitMost {
		return 0, fmt.Errorf(`"wait" is a time like 30s, of %s at most`, waitMost)
	}
	return d, nil
}

// changes answers with what came of a command: 200 if all of it was done, 202
// if something is still to come or was not asked for.
func (a *api) changes(do command) http.HandlerFunc {
	return a.permitted(func(rw http.ResponseWriter, r *http.Request) {
		var body Request
		if err := decode(rw, r, &body); err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		by, _, _ := net.SplitHostPort(r.RemoteAddr)
		by = cmp.Or(by, r.RemoteAddr)
		out, err := do(r.Context(), body, by)
		a.Log.Info().Str("request", r.URL.Path).Str("by", by).Strs("vchannels", body.VChannels).Str("collection", body.Collection).
			Bool("all", body.All).Err(err).Msg("asked over HTTP")
		if err != nil {
			http.Error(rw, err.Error(), status(err))
			return
		}
		if !out.Whole(body.Wait != "") {
			a.sendStatus(rw, http.StatusAccepted, out)
			return
		}
		a.send(rw, out)
	})
}

// status is that of a command's error.
func status(err error) int {
	switch {
	case errors.Is(err, flows.ErrNotHere), errors.Is(err, flows.ErrNoCollection):
		return http.StatusNotFound
	case errors.Is(err, flows.ErrNotRunning), errors.Is(err, flows.ErrAmbiguous):
		return http.StatusConflict
	}
	return http.StatusBadRequest
}

// setLevel changes what is logged from now on.
func (a *api) setLevel(rw http.ResponseWriter, r *http.Request) {
	var l Level
	err := decode(rw, r, &l)
	if err == nil {
		err = a.LogLevel.SetLevel(l.Level)
	}
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	a.send(rw, Level{a.LogLevel.Level()})
}

// permitted refuses what nobody may be asked for here. Pages of others and
// requests without the token do not come so far.
func (a *api) permitted(next http.HandlerFunc) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		if p := a.permission(); !p.Allowed {
			http.Error(rw, p.Why, http.StatusForbidden)
			return
		}
		next(rw, r)
	}
}

// decode reads one JSON object and nothing else.
func decode(rw http.ResponseWriter, r *http.Request, into any) error {
	// A form of another page cannot say that it is JSON.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return errors.New("the body is to be JSON, with Content-Type: application/json")
	}
	d := json.NewDecoder(http.MaxBytesReader(rw, r.Body, bodyLimit))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("the body is not what is asked for here, see docs/api.md: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the body's JSON")
	}
	return nil
}

// permission says whether requests that change something are obeyed.
func (a *api) permission() Permission {
	if a.Control == nil {
		return Permission{Why: "this server only shows"}
	}
	return a.Access.permission()
}
