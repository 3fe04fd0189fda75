package sinks_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/sinks"
)

func TestACopyHasTheSameBytesWithinAStoreAndBetweenTwo(t *testing.T) {
	g := newGateway(t)
	var copies atomic.Int64
	g.fault = func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("x-amz-copy-source") != "" && copies.Add(1) == 1 {
			g.lose(r) // the copy is there, its reply is not
		}
		g.proxy.ServeHTTP(w, r)
	}
	from := newBucket(t, g.config())
	o, text := randomObject(3 << 20)
	if _, err := from.Put(t.Context(), "a/source", o, checkpoints.Condition{}); err != nil {
		t.Fatal(err)
	}
	within, between := g.config(), g.config()
	within.Root, between.Root = "stage/of", "other"
	between.Endpoint = strings.Replace(between.Endpoint, "127.0.0.1", "localhost", 1) // as if it were another store
	for _, c := range []struct {
		name   string
		to     sinks.BucketConfig
		copies int64 // that the store is asked for, the lost one included
	}{
		{"within", within, 3},
		{"between", between, 0},
	} {
		copies.Store(0)
		to := newBucket(t, c.to)
		for range 2 { // what is there is replaced
			if n, err := to.CopyFrom(t.Context(), from, "a/source", "b/copy"); err != nil || n != o.Size() {
				t.Fatalf("%s: %d bytes, %v", c.name, n, err)
			}
			if data, _, err := to.Get(t.Context(), "b/copy"); err != nil || string(data) != text {
				t.Errorf("%s: another object, %v", c.name, err)
			}
		}
		if copies.Load() != c.copies {
			t.Errorf("%s: the store was asked for %d copies, want %d", c.name, copies.Load(), c.copies)
		}
		if _, err := to.CopyFrom(t.Context(), from, "a/absent", "b/none"); !errors.Is(err, checkpoints.ErrNotExist) {
			t.Errorf("%s: of an absent object: %v", c.name, err)
		}
	}
}
