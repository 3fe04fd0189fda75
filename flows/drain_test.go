package flows

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
)

// Every wait ends with the kill.
func TestAKillEndsAWorkerWhoseStoreHangs(t *testing.T) {
	for _, held := range []membucket.Op{membucket.Put, membucket.Get} {
		w := newWorld(t, 1)
		w.produce(0, createCollection(collectionID))
		w.produce(0, inserts(7, 1, 400, 60000)...)
		hung := w.hold(held, "")
		l := w.start(small)
		until(t, "calls hang", hung.waits)
		l.die()
		if err := l.wait(); !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
	}
}

func TestAKillEndsAWorkerThatDrains(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10))
	hung := w.hold(membucket.Put, "insert_log/")
	l := w.start(func(c *Config) { c.Grace = time.Hour }).until(0, 2)
	l.drain()
	until(t, "the last flush hangs", hung.waits)
	l.die()
	if err := l.wait(); err == nil {
		t.Error("a drain that was killed is told as complete")
	}
}

// A drain that cannot end in time says so, and commits nothing of what is not
// stored.
func TestADrainThatDoesNotEndIsNotPretended(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10))
	w.hold(membucket.Put, "insert_log/")
	l := w.start(func(c *Config) { c.Grace = 400 * time.Millisecond }).until(0, 2)
	l.drain()
	if err := l.wait(); !errors.Is(err, ErrGrace) {
		t.Errorf("the error is %v", err)
	}
	w.bucket.Before(nil)
	if d := w.document(0); d.Seek.Offset > 1 {
		t.Errorf("the position passed rows that are not stored: %d", d.Seek.Offset)
	}
	w.start().until(0, 2).stop()
	w.exact(archive.CheckOptions{})
}

// A drain whose last flush fails is no complete one.
func TestADrainThatFailsIsTold(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10))
	l := w.start().until(0, 2)
	conflict := errors.New("a conflict put here by the test")
	w.bucket.Before(func(_ context.Context, c membucket.Call) error {
		if strings.HasPrefix(c.Key, "insert_log/") {
			return conflict
		}
		return nil
	})
	l.drain()
	if err := l.wait(); !errors.Is(err, conflict) || !strings.Contains(err.Error(), vchannel(0)) {
		t.Errorf("the error is %v", err)
	}
	w.bucket.Before(nil)
	if k := w.groupOffset(0); k > 1 {
		t.Errorf("the group was told %d", k)
	}
	w.start().until(0, 2).stop()
	w.exact(archive.CheckOptions{})
}
