package sinks_test

import (
	"errors"
	"io"
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

// A store that copies other bytes of the same size is found out, by checksum
// or, where none is kept, by the bytes.
func TestACopyOfOtherBytesDoesNotCount(t *testing.T) {
	for _, kind := range []sinks.Checksum{sinks.CRC32C, sinks.None} {
		t.Run(string(kind), func(t *testing.T) {
			g := newGateway(t)
			cfg := g.config()
			cfg.Checksum, cfg.ReadRefusals = kind, 2
			from := newBucket(t, cfg)
			if _, err := from.Put(t.Context(), "a", object("the source"), checkpoints.Condition{}); err != nil {
				t.Fatal(err)
			}
			result := `<CopyObjectResult><ETag>"0"</ETag><LastModified>2024-01-01T00:00:00.000Z</LastModified></CopyObjectResult>`
			copies := g.first(1000, isCopy, func(w http.ResponseWriter, _ *http.Request) {
				g.store("files/b", []byte("the Source"))
				io.WriteString(w, result)
			})
			if n, err := newBucket(t, cfg).CopyFrom(t.Context(), from, "a", "b"); !errors.Is(err, checkpoints.ErrRefused) || !strings.Contains(err.Error(), "the copy is not what a is") {
				t.Errorf("checksum %s: %d, %v", kind, n, err)
			}
			if copies.Load() != 3 {
				t.Errorf("checksum %s: %d copies were asked for", kind, copies.Load())
			}
		})
	}
}
