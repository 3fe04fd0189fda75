package flows

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
)

// A flow that starts again must read from its own checkpoint: a record that
// was fetched for the flow before it, at a higher offset, would be taken for
// the end of a gap.
func TestAFlowThatStartsAgainInTheMiddleLosesNothing(t *testing.T) {
	w := newWorld(t, 2)
	for p := range int32(2) {
		w.produce(p, createCollection(collectionID))
		for i := range int64(30) {
			w.produce(p, inserts(int64(10+p), 1000*int64(p)+20*i, 20, 3000)...)
			w.produce(p, garbage)
		}
	}
	var failed sync.Map
	w.bucket.Before(func(_ context.Context, c membucket.Call) error {
		if _, again := failed.LoadOrStore(c.Key, true); again || c.Op != membucket.Put || !strings.HasPrefix(c.Key, "quarantine/") {
			return nil
		}
		return errors.New("a fault put here by the test")
	})
	l := w.startWith(func(w *Worker) { w.patience.fails, w.patience.restartMax = 1000, w.patience.restartFirst }, small)
	until(t, "all faults are over", func() bool { return len(w.bucket.Keys("quarantine/")) == 60 })
	l.until(0, 631).until(1, 631).stop()
	if n := l.metric("flowgraph_flow_restarts_total"); n < 10 {
		t.Errorf("%g restarts", n)
	}
	w.exact(archive.CheckOptions{Partial: true})
}

// The owner before may commit beyond the end that was asked for before the
// claim: that is no loss.
func TestAPositionBeyondAnOldEndIsNoLoss(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10))
	w.start().until(0, 2).stop()
	claims := w.hold(membucket.Get, "checkpoints/"+vchannel(0))
	l := w.start()
	until(t, "the flow claims", claims.waits)
	w.produce(0, tick(10), tick(11))
	w.bucket.Before(nil)
	d := w.document(0)
	d.Seek.Offset, d.ReadFrom.Offset, d.Sequence = 4, 4, d.Sequence+1
	w.store(d)
	claims.open()
	if s := l.has(0, "running"); s.ReadFrom != 4 {
		t.Errorf("it reads from %d", s.ReadFrom)
	}
	l.stop()
}

// A partition that is given out twice without having been taken away has one
// flow all the same.
func TestAPartitionGivenOutTwiceHasOneFlow(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10))
	l := w.start().until(0, 2)
	l.assigned(t.Context(), l.client, map[string][]int32{topic: {0}})
	until(t, "it is claimed again", func() bool { return l.status(0).Epoch == 2 })
	w.produce(0, insert(7, 2, 10))
	l.until(0, 3).stop()
	if n := l.metric("flowgraph_fenced_total"); n != 0 {
		t.Errorf("%g fencings", n)
	}
	w.exact(archive.CheckOptions{})
}
