package flows

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
)

func TestAFencedFlowClaimsAgainOnlyAfterALaterHeartbeat(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID))
	l := w.startWith(eager).until(0, 1)
	var fenced, confirmed atomic.Int64
	key := checkpoints.DocumentKey(vchannel(0))
	w.bucket.Before(func(_ context.Context, c membucket.Call) error {
		if c.Op != membucket.Put || c.Key != key {
			return nil
		}
		switch c.Meta[checkpoints.MetaEpoch] {
		case "1":
			fenced.CompareAndSwap(0, time.Now().UnixNano())
		case "3":
			confirmed.CompareAndSwap(0, l.heartbeat.at.Load())
		}
		return nil
	})
	w.claim()
	w.produce(0, insert(7, 1, 100))
	until(t, "it has claimed again", func() bool { return l.status(0).Epoch == 3 })
	if n := l.metric("flowgraph_fenced_total"); n != 1 {
		t.Errorf("%g fencings counted, want 1", n)
	}
	if f, c := fenced.Load(), confirmed.Load(); f == 0 || c <= f {
		t.Errorf("claimed with a heartbeat of %d, fenced after %d", c, f)
	}
	l.until(0, 2).stop()
	w.exact(archive.CheckOptions{})
}

func (w *world) claim() {
	w.t.Helper()
	v := checkpoints.VChannel{Topic: topic, TopicID: w.document(0).TopicID}
	if _, _, err := checkpoints.Claim(w.t.Context(), w.bucket, v, 0); err != nil {
		w.t.Fatal(err)
	}
}

func TestOwnershipLostTooOftenEndsTheWorker(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 100))
	atOnce := func(c *Config) { c.Limits.FlushBytes = 1 } // a buffered row would hold the position
	a := w.startWith(eager, atOnce)
	b := w.startWith(eager, atOnce, func(c *Config) { c.Group = "another" })
	ts := int64(1)
	until(t, "one of them gives up", func() bool {
		ts++
		w.produce(0, tick(ts)) // who has nothing to commit does not learn that it is fenced
		select {
		case <-a.ended:
			return true
		case <-b.ended:
			return true
		default:
			return false
		}
	})
	first, other := a, b
	select {
	case <-b.ended:
		first, other = b, a
	default:
	}
	if first.err == nil || !strings.Contains(first.err.Error(), ErrFencedTooOften.Error()) {
		t.Errorf("the error is %v", first.err)
	}
	other.until(0, ts+1).stop()
	w.exact(archive.CheckOptions{})
}

func TestAFencedWorkerOfAListEnds(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID))
	l := w.startWith(eager, func(c *Config) { c.Topics, c.Partitions = nil, map[string][]int32{topic: {0}} }).until(0, 1)
	w.claim()
	w.produce(0, insert(7, 1, 100))
	if err := l.wait(); err == nil || !strings.Contains(err.Error(), ErrFencedTooOften.Error()) {
		t.Errorf("the error is %v", err)
	}
	w.start().until(0, 2).stop()
	w.exact(archive.CheckOptions{})
}
