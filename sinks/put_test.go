package sinks_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/sinks"
)

func TestPutNeverOverwritesAnotherObject(t *testing.T) {
	forChecksums(t, func(t *testing.T, c sinks.Checksum) {
		g := newGateway(t)
		cfg := g.config()
		cfg.Checksum = c
		b := newBucket(t, cfg)
		first, err := b.Put(t.Context(), "k", object("one ", "", "object"), checkpoints.Condition{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []struct {
			name string
			body string
			etag string
			want error
		}{
			{"the same bytes", "one object", "", nil},
			{"other bytes of the same size", "ONE object", "", checkpoints.ErrConflict},
			{"longer ones that begin alike", "one object more", "", checkpoints.ErrConflict},
			{"a stale version", "two", "00000000000000000000000000000000", checkpoints.ErrConflict},
			{"a stale version but the same bytes", "one object", "00000000000000000000000000000000", nil},
		} {
			info, err := b.Put(t.Context(), "k", object(s.body), checkpoints.Condition{ETag: s.etag})
			if !errors.Is(err, s.want) {
				t.Errorf("%s: %v, want %v", s.name, err, s.want)
			}
			if err == nil && info.ETag != first.ETag {
				t.Errorf("%s: ETag %s, stored is %s", s.name, info.ETag, first.ETag)
			}
		}
		if g.file("k") != "one object" {
			t.Errorf("stored is %q", g.file("k"))
		}
		second, err := b.Put(t.Context(), "k", object("two"), checkpoints.Condition{ETag: first.ETag})
		if err != nil || second.ETag == first.ETag || g.file("k") != "two" {
			t.Errorf("replaced by %q, %+v, %v", g.file("k"), second, err)
		}
	})
}

func TestReplacingAVanishedVersionIsAConflict(t *testing.T) {
	b := newBucket(t, newGateway(t).config())
	_, err := b.Put(t.Context(), "gone", object("x"), checkpoints.Condition{ETag: "00000000000000000000000000000000"})
	if !errors.Is(err, checkpoints.ErrConflict) || !errors.Is(err, checkpoints.ErrNotExist) {
		t.Fatalf("got %v", err)
	}
}

func TestRetriedUploadSendsTheWholeBodyAgain(t *testing.T) {
	g := newGateway(t)
	var seen atomic.Int64
	g.fault = func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && seen.Add(1) == 1 {
			refuseWith(w, r, 503, "SlowDown")
			return
		}
		g.proxy.ServeHTTP(w, r)
	}
	b := newBucket(t, g.config())
	o, want := randomObject(8 << 20)
	info, err := b.Put(t.Context(), "k", o, checkpoints.Condition{})
	if err != nil {
		t.Fatal(err)
	}
	if info.Size != int64(len(want)) || g.file("k") != want {
		t.Fatal("other bytes are stored than were put")
	}
	data, got, err := b.Get(t.Context(), "k")
	if err != nil || string(data) != want || got.ETag != info.ETag || got.Meta["epoch"] != "3" {
		t.Fatalf("read back %d bytes, %+v, %v", len(data), got, err)
	}
}

func TestAnUploadLargerThanAPartStaysOneConditionalPut(t *testing.T) {
	g := newGateway(t)
	b := newBucket(t, g.config())
	o, want := randomObject(40 << 20)
	if _, err := b.Put(t.Context(), "k", o, checkpoints.Condition{}); err != nil {
		t.Fatal(err)
	}
	other, _ := randomObject(40 << 20)
	other.Parts[3][0]++
	if _, err := b.Put(t.Context(), "k", other, checkpoints.Condition{}); !errors.Is(err, checkpoints.ErrConflict) {
		t.Fatalf("the second put: %v", err)
	}
	if g.file("k") != want {
		t.Fatal("the object was overwritten")
	}
}

func TestAnEmptyObjectIsStored(t *testing.T) {
	forChecksums(t, func(t *testing.T, c sinks.Checksum) {
		g := newGateway(t)
		cfg := g.config()
		cfg.Checksum = c
		b := newBucket(t, cfg)
		if _, err := b.Put(t.Context(), "k", object(), checkpoints.Condition{}); err != nil {
			t.Fatal(err)
		}
		if info, err := b.Stat(t.Context(), "k"); err != nil || info.Size != 0 {
			t.Fatalf("%+v, %v", info, err)
		}
	})
}

func TestAWrongPrecomputedChecksumIsNotStored(t *testing.T) {
	g := newGateway(t)
	b := newBucket(t, g.config())
	o := object("bytes")
	sum := uint32(1)
	o.CRC32C = &sum
	if _, err := b.Put(t.Context(), "k", o, checkpoints.Condition{Refusals: 1}); !errors.Is(err, checkpoints.ErrRefused) {
		t.Fatalf("got %v", err)
	}
	if g.file("k") != "" {
		t.Fatal("stored in spite of it")
	}
}

// randomObject is an object of uneven parts, one of them empty.
func randomObject(size int) (checkpoints.Object, string) {
	data := make([]byte, size)
	rand.NewChaCha8([32]byte{}).Read(data)
	cut := size / 3
	return checkpoints.Object{
		Parts: [][]byte{data[:1], data[1:cut], {}, data[cut:]},
		Meta:  map[string]string{"epoch": "3"},
	}, string(bytes.Clone(data))
}
