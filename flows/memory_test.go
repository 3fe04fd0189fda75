package flows

import (
	"context"
	"strings"
	"testing"

	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
)

// Many partitions with a backlog, a store that takes one file at a time, and
// little memory.
func TestMemoryStaysWithinTheBudgetAndOneFetch(t *testing.T) {
	const partitions, rows = 32, 30
	w := newWorld(t, partitions)
	for p := range int32(partitions) {
		w.produce(p, createCollection(collectionID))
		w.produce(p, inserts(int64(10+p), int64(1000*p), rows, 60000)...)
	}
	turn := make(chan struct{}, 1)
	w.bucket.Before(func(ctx context.Context, c membucket.Call) error {
		if c.Op != membucket.Put || !strings.HasPrefix(c.Key, "insert_log/") {
			return nil
		}
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
		}
		return ctx.Err()
	})
	l := w.start(small, func(c *Config) { c.Limits.FlushBytes = 8 << 20 })
	var most int64
	until(t, "everything is read", func() bool {
		most = max(most, l.shared.Budget.Used())
		select {
		case <-turn:
		default:
		}
		for p := range int32(partitions) {
			if l.status(p).Read < rows+1 {
				return false
			}
		}
		return true
	})
	// A batch is fetched whole, and counts twice while it is being placed.
	if limit := l.shared.Budget.Limit() + int64(l.fetchBytes()) + 2*rows*61000; most > limit {
		t.Errorf("%d bytes were in use, %d are allowed", most, limit)
	}
	w.bucket.Before(nil)
	for range 4 { // whoever has passed the hook's lock already
		select {
		case <-turn:
		default:
		}
	}
	go func() {
		for {
			select {
			case <-turn:
			case <-l.ended:
				return
			}
		}
	}()
	l.stop()
	w.exact(archive.CheckOptions{})
	if n := l.metric("flowgraph_flow_restarts_total"); n != 0 {
		t.Errorf("%g restarts", n)
	}
	// Memory asks again and again; obeying each time would leave tiny files.
	if files := len(w.bucket.Keys("insert_log/")); files > 4*partitions*6 {
		t.Errorf("%d files for %d segments", files, partitions)
	}
}

// One record of twelve MiB passes a budget of sixteen, between small ones.
func TestARecordNearlyAsLargeAsTheBudgetPasses(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10))
	w.produce(0, insert(7, 2, 12<<20))
	w.produce(0, insert(7, 3, 12<<20))
	w.produce(0, insert(7, 4, 10))
	l := w.start(small).until(0, 5)
	l.stop()
	w.exact(archive.CheckOptions{})
}
