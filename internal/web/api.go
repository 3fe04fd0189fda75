package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"flowgraph/flows"
)

// glance is how long one picture serves all who ask: what looking costs does
// not grow with those who look.
const glance = 400 * time.Millisecond

// api answers questions under /api/ with JSON.
type api struct {
	Options
	mu   sync.Mutex // held while a picture is taken, so that others wait for it instead of taking their own
	last *flows.Picture
}

func serveAPI(mux *http.ServeMux, o Options) {
	a := &api{Options: o}
	mux.HandleFunc("GET /api/worker", a.worker)
	mux.HandleFunc("GET /api/vchannels", a.vchannels)
	mux.HandleFunc("GET /api/vchannels/{name}", a.vchannel)
	mux.HandleFunc("GET /api/segments", a.segments)
	mux.HandleFunc("GET /api/events", a.events)
	a.serveControl(mux)
}

// look returns a picture that is not older than a glance.
func (a *api) look(ctx context.Context) *flows.Picture {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last == nil || time.Since(a.last.At) > glance {
		a.last = a.Worker.Look(ctx)
	}
	return a.last
}

// worker answers with the worker's own state, the store's, and sums.
func (a *api) worker(rw http.ResponseWriter, r *http.Request) {
	p := a.look(r.Context())
	t := Totals{VChannels: map[string]int{}, Segments: len(p.Segments)}
	for i := range p.VChannels {
		f := &p.VChannels[i]
		t.VChannels[f.State]++
		t.Lag, t.Buffered, t.Flushing = t.Lag+f.Lag, t.Buffered+f.Buffered, t.Flushing+f.Flushing
	}
	for i := range p.Segments {
		t.Rows, t.Bytes = t.Rows+p.Segments[i].Rows, t.Bytes+p.Segments[i].Bytes
	}
	a.send(rw, Overview{p.At, p.Worker, storeStatus(a.Store.Waiting()), t, a.permission()})
}

// vchannels answers with all vchannels of this worker, by name.
func (a *api) vchannels(rw http.ResponseWriter, r *http.Request) {
	a.send(rw, a.look(r.Context()).VChannels)
}

// vchannel answers with one vchannel and its segments.
func (a *api) vchannel(rw http.ResponseWriter, r *http.Request) {
	limit, err := number(r.URL.Query(), "limit", most)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	p, name := a.look(r.Context()), r.PathValue("name")
	for i := range p.VChannels {
		if p.VChannels[i].VChannel == name {
			q := query{vchannel: name, by: positionOrder(), limit: min(limit, most)}
			segments, total := q.of(p.Segments)
			a.send(rw, OneVChannel{p.At, &p.VChannels[i], segments, total})
			return
		}
	}
	http.Error(rw, fmt.Sprintf("this worker has no vchannel %q", name), http.StatusNotFound)
}

// segments answers with those that match, sorted, from an offset on.
func (a *api) segments(rw http.ResponseWriter, r *http.Request) {
	q, err := parseQuery(r.URL.Query())
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	p := a.look(r.Context())
	segments, matched := q.of(p.Segments)
	a.send(rw, SomeSegments{p.At, segments, q.offset, matched, len(p.Segments)})
}

// events answers with what happened after a sequence number.
func (a *api) events(rw http.ResponseWriter, r *http.Request) {
	v := r.URL.Query()
	limit, noLimit := number(v, "limit", 200)
	after, noAfter := number(v, "after", 0)
	if err := cmp.Or(noLimit, noAfter); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	a.send(rw, a.Worker.Events(uint64(after), limit))
}

func (a *api) send(rw http.ResponseWriter, v any) { a.sendStatus(rw, http.StatusOK, v) }

func (a *api) sendStatus(rw http.ResponseWriter, status int, v any) {
	rw.Header().Set("Content-Type", "application/json")
	rw.Header().Set("Cache-Control", "no-store")
	rw.WriteHeader(status)
	if err := json.NewEncoder(rw).Encode(v); err != nil {
		a.Log.Debug().Err(err).Msg("answer not sent")
	}
}

// number is a query's number that is not negative.
func number(v url.Values, name string, otherwise int) (int, error) {
	text := v.Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s=%q is not a number of 0 or more", name, text)
	}
	return n, nil
}
