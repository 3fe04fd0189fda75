// Package webtest is a worker made up of numbers, for tests of what shows one.
package webtest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flowgraph/flows"
	"flowgraph/internal/web"
	"flowgraph/sinks"
)

// Worker is a web.Worker, and its store. Once it is served, its fields are
// changed by Change alone.
type Worker struct {
	Now    flows.Picture
	Told   []flows.Event // by their numbers, from 1 on
	Stored sinks.Waiting
	Looks  int         // pictures taken so far
	Away   atomic.Bool // nobody answers

	mu sync.Mutex
}

// New is a worker that runs and has no vchannels.
func New() *Worker {
	now := time.Now()
	return &Worker{
		Now: flows.Picture{Worker: flows.WorkerStatus{
			Started: now.Add(-time.Hour), Ready: true, Phase: "running", MemoryBudget: 1 << 30, MemoryUsed: 300 << 20,
			Kafka: flows.KafkaStatus{Brokers: []string{"127.0.0.1:9092"}, Group: "flowgraph", Topics: []string{"by-dev.*"}, Answered: &now},
		}},
		Stored: sinks.Waiting{Store: "http://127.0.0.1:9000/a-bucket"},
	}
}

// Change alters what is shown from now on.
func (w *Worker) Change(edit func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	// Pictures that were handed out share these.
	w.Now.VChannels, w.Now.Segments = slices.Clone(w.Now.VChannels), slices.Clone(w.Now.Segments)
	edit()
}

// Tell adds an event, within a Change.
func (w *Worker) Tell(e flows.Event) {
	e.Seq, e.At = uint64(len(w.Told)+1), time.Now()
	w.Told = append(w.Told, e)
}

// Serve returns the address of the worker's page, until the test ends. The
// options are more than the worker itself.
func (w *Worker) Serve(t testing.TB, o web.Options) string {
	t.Helper()
	o.Worker, o.Store = w, w
	next := web.Handler(o)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.Away.Load() {
			http.Error(rw, "nobody is here", http.StatusBadGateway)
			return
		}
		next.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// Status implements web.Worker, as do the others up to Events.
func (w *Worker) Status() []flows.FlowStatus { return w.look().VChannels }

// Ready is true.
func (w *Worker) Ready() bool { return true }

// Refused tells of nothing.
func (w *Worker) Refused() (time.Time, error) { return time.Time{}, nil }

// Kafka is the picture's.
func (w *Worker) Kafka() flows.KafkaStatus { return w.look().Worker.Kafka }

// Look is Now.
func (w *Worker) Look(context.Context) *flows.Picture { return w.look() }

func (w *Worker) look() *flows.Picture {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Looks++
	p := w.Now
	p.At = time.Now()
	return &p
}

// Events are those told.
func (w *Worker) Events(after uint64, limit int) flows.Events {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := flows.Events{Events: []flows.Event{}, Last: uint64(len(w.Told))}
	for _, e := range w.Told {
		if e.Seq > after && len(out.Events) < limit {
			out.Events = append(out.Events, e)
		}
	}
	return out
}

// Waiting implements web.Store.
func (w *Worker) Waiting() sinks.Waiting {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Stored
}
