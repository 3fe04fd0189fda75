package sinks_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"flowgraph/checkpoints"
	"flowgraph/sinks"
)

func noLog() zerolog.Logger { return zerolog.Nop() }

// A request that was given up ends with its call, and leaves no goroutine.
func TestCancelledUploadsEndAndLeaveNoGoroutine(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	const n = 100
	ctx, cancel := context.WithCancelCause(t.Context())
	killed := errors.New("killed")
	var arrived sync.WaitGroup
	arrived.Add(n)
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived.Done()
		<-release // neither reads nor answers
	}))
	defer s.Close()
	defer close(release)
	cfg := fastConfig(s.URL)
	b, err := sinks.NewBucket(cfg, noLog(), sinks.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	errs := make(chan error, n)
	for range n {
		go func() {
			data := make([]byte, 4<<20)
			_, err := b.Put(ctx, "k", checkpoints.Object{Parts: [][]byte{data}}, checkpoints.Condition{})
			errs <- err
		}()
	}
	arrived.Wait()
	cancel(killed)
	for range n {
		if err := <-errs; !errors.Is(err, killed) {
			t.Fatalf("got %v", err)
		}
	}
}

// A store may answer before it has read the body.
func TestAnAnswerBeforeTheBodyIsReadIsAnAnswer(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
	}))
	defer s.Close()
	b := newBucket(t, fastConfig(s.URL))
	data := make([]byte, 16<<20)
	_, err := b.Put(t.Context(), "k", checkpoints.Object{Parts: [][]byte{data}}, checkpoints.Condition{Refusals: 1})
	if err == nil {
		t.Fatal("no error")
	}
}
