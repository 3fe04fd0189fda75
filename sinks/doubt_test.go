package sinks_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"flowgraph/checkpoints"
	"flowgraph/sinks"
)

func TestALostReplyIsToldFromAConflict(t *testing.T) {
	forChecksums(t, func(t *testing.T, c sinks.Checksum) {
		g := newGateway(t)
		var seen atomic.Int64
		g.fault = func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && seen.Add(1)%2 == 1 {
				g.lose(r)
			}
			g.proxy.ServeHTTP(w, r)
		}
		cfg := g.config()
		cfg.Checksum = c
		b := newBucket(t, cfg)
		first, err := b.Put(t.Context(), "k", object("one"), checkpoints.Condition{})
		if err != nil {
			t.Fatalf("create: %v", err)
		}
		seen.Store(0)
		second, err := b.Put(t.Context(), "k", object("two"), checkpoints.Condition{ETag: first.ETag})
		if err != nil || g.file("k") != "two" {
			t.Fatalf("replace: %v", err)
		}
		if info, err := b.Stat(t.Context(), "k"); err != nil || info.ETag != second.ETag {
			t.Fatalf("the version found is not the one stored: %+v, %+v, %v", info, second, err)
		}
		if g.puts.Load() != 2 {
			t.Errorf("%d puts: what was stored was sent again", g.puts.Load())
		}
	})
}

func TestABrokenConnectionBeforeTheStoreActsIsSentAgain(t *testing.T) {
	g := newGateway(t)
	var seen atomic.Int64
	g.fault = func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && seen.Add(1)%2 == 1 {
			panic(http.ErrAbortHandler)
		}
		g.proxy.ServeHTTP(w, r)
	}
	b := newBucket(t, g.config())
	first, err := b.Put(t.Context(), "k", object("one"), checkpoints.Condition{Refusals: 1})
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	if _, err := b.Put(t.Context(), "k", object("two"), checkpoints.Condition{ETag: first.ETag, Refusals: 1}); err != nil || g.file("k") != "two" {
		t.Fatalf("replace: %v", err)
	}
}

// A store that says that it stored an object, but has none or a part of it,
// must not make a commit point at nothing.
func TestALyingStoreIsFoundOut(t *testing.T) {
	o, want := randomObject(100 << 10)
	for name, half := range map[string]int{"absent": 0, "truncated": len(want) / 2} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t)
			var seen atomic.Int64
			g.fault = func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPut || seen.Add(1) > 1 {
					g.proxy.ServeHTTP(w, r)
					return
				}
				if half > 0 {
					w.Header().Set("ETag", g.store("files/k", []byte(want[:half])))
				}
			}
			b := newBucket(t, g.config())
			if _, err := b.Put(t.Context(), "k", o, checkpoints.Condition{}); err != nil {
				t.Fatal(err)
			}
			if g.file("k") != want {
				t.Fatalf("%d of %d bytes are stored", len(g.file("k")), len(want))
			}
		})
	}
}

func TestAnotherObjectAfterAReplyOfSuccessIsAConflict(t *testing.T) {
	g := newGateway(t)
	g.fault = func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut {
			g.proxy.ServeHTTP(w, r)
			return
		}
		w.Header().Set("ETag", g.store("files/k", []byte("of somebody else")))
	}
	b := newBucket(t, g.config())
	_, err := b.Put(t.Context(), "k", object("something of ours"), checkpoints.Condition{})
	if !errors.Is(err, checkpoints.ErrConflict) || g.file("k") != "of somebody else" {
		t.Fatalf("%v; stored %q", err, g.file("k"))
	}
}

func TestAnErrorInsideAReplyOfSuccessIsNoSuccess(t *testing.T) {
	g := newGateway(t)
	var seen atomic.Int64
	g.fault = func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && seen.Add(1) == 1 {
			refuseWith(w, r, 200, "InternalError")
			return
		}
		g.proxy.ServeHTTP(w, r)
	}
	var reasons atomic.Pointer[sinks.Waiting]
	b := newBucket(t, g.config(), sinks.Hooks{Waiting: func(w sinks.Waiting) {
		if w.Calls > 0 {
			reasons.Store(&w)
		}
	}})
	if _, err := b.Put(t.Context(), "k", object("one"), checkpoints.Condition{}); err != nil {
		t.Fatal(err)
	}
	if w := reasons.Load(); w == nil || !strings.Contains(w.Reason, "words of the store") {
		t.Fatalf("waited for %+v", w)
	}
	if g.file("k") != "one" {
		t.Fatal("not stored")
	}
}

func TestASlowRequestIsGivenUpAndSentAgain(t *testing.T) {
	g := newGateway(t)
	var seen atomic.Int64
	g.fault = func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && seen.Add(1) == 1 {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done() // no answer until the client gives up
			return
		}
		g.proxy.ServeHTTP(w, r)
	}
	cfg := g.config()
	cfg.AttemptTimeout = 200 * time.Millisecond
	b := newBucket(t, cfg)
	if _, err := b.Put(t.Context(), "k", object("one"), checkpoints.Condition{Refusals: 1}); err != nil {
		t.Fatal(err)
	}
	if g.file("k") != "one" || seen.Load() != 2 {
		t.Fatalf("stored %q after %d requests", g.file("k"), seen.Load())
	}
}

func TestHealthSaysWhichStoreAndWhyWhileACallWaits(t *testing.T) {
	g := newGateway(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	killed := errors.New("killed")
	var during sinks.Waiting
	var b *sinks.Bucket
	var seen int
	g.fault = func(w http.ResponseWriter, r *http.Request) {
		if seen++; seen == 4 {
			during = b.Waiting()
			cancel(killed)
		}
		refuseWith(w, r, 503, "SlowDown")
	}
	b = newBucket(t, g.config())
	_, err := b.Put(ctx, "k", object("one"), checkpoints.Condition{Refusals: 1})
	if !errors.Is(err, killed) {
		t.Fatalf("the cause is lost: %v", err)
	}
	if during.Calls != 1 || !strings.Contains(during.Reason, "words of the store") || !strings.Contains(during.Store, "a-bucket") || during.Since.IsZero() {
		t.Errorf("while waiting: %+v", during)
	}
	if after := b.Waiting(); after.Calls != 0 {
		t.Errorf("afterwards: %+v", after)
	}
}
