package flows

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
	"flowgraph/stages"
)

func TestABadRecordIsQuarantinedOnceAndThePositionMoves(t *testing.T) {
	w := newWorld(t, 2)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10), garbage, nil, insert(7, 2, 10), garbage)
	w.produce(1, garbage, nil) // nothing else
	l := w.start().until(0, 6).until(1, 2)
	l.stop()
	if n := l.metric("flowgraph_quarantined_records_total"); n != 5 {
		t.Errorf("%g quarantined records counted, want 5", n)
	}
	w.exact(archive.CheckOptions{})
	if s0, s1 := w.document(0).Seek.Offset, w.document(1).Seek.Offset; s0 != 6 || s1 != 2 {
		t.Errorf("seek positions %d and %d, want 6 and 2", s0, s1)
	}
	l = w.start().until(0, 6)
	l.stop()
	if calls := w.bucket.Calls(membucket.Put, "quarantine/"); len(calls) != 5 {
		t.Errorf("%d puts into quarantine, want 5", len(calls))
	}
}

func TestABadRecordStopsItsVChannelIfSoConfigured(t *testing.T) {
	w := newWorld(t, 2)
	w.produce(0, createCollection(collectionID), garbage, insert(7, 1, 10))
	w.produce(1, createCollection(collectionID), insert(8, 100, 10))
	l := w.start(func(c *Config) { c.StopOnBad = true }).until(1, 2)
	if s := l.has(0, "stopped"); !strings.Contains(s.Error, "offset 1") {
		t.Errorf("the error is %q", s.Error)
	}
	if n := l.metric("flowgraph_vchannel_stopped"); n != 1 {
		t.Errorf("%g vchannels show as stopped", n)
	}
	l.stop()
	if keys := w.bucket.Keys("quarantine/"); len(keys) > 0 {
		t.Errorf("quarantine holds %q", keys)
	}
	if d := w.document(0); d.Seek.Offset > 1 {
		t.Errorf("the position passed the bad record: %d", d.Seek.Offset)
	}
	if d := w.document(1); d.Seek.Offset != 2 {
		t.Errorf("the other vchannel is at %d", d.Seek.Offset)
	}
}

func TestAnUnknownCollectionWaitsForItsSchemaWhileOthersRun(t *testing.T) {
	w := newWorld(t, 2)
	w.produce(0, insert(7, 1, 10))
	w.produce(1, createCollection(collectionID), insert(8, 100, 10))
	l := w.start().until(1, 2)
	if s := l.has(0, "stopped"); !strings.Contains(s.Error, "collection 100 at offset 0") {
		t.Errorf("the error is %q", s.Error)
	}
	l.stop()
	l = w.start(func(c *Config) { c.Schemas = stages.GivenSchemas{collectionID: schema()} }).until(0, 1)
	l.stop()
	want := w.expected(func(x *archive.Expected) {
		if err := x.SetSchema(topic, 0, collectionID, schema()); err != nil {
			t.Fatal(err)
		}
	})
	report, err := archive.Check(t.Context(), w.bucket, want, archive.CheckOptions{})
	if err != nil || report.Err() != nil {
		t.Errorf("%v\n%s", err, report)
	}
}

// A panic is an error of that flow, which starts again from its checkpoint.
func TestAPanicInTheSinkRestartsTheFlow(t *testing.T) {
	w := newWorld(t, 1)
	var panicked atomic.Bool
	w.bucket.Before(func(_ context.Context, c membucket.Call) error {
		if strings.HasPrefix(c.Key, "quarantine/") && panicked.CompareAndSwap(false, true) {
			panic("a fault put here by the test")
		}
		return nil
	})
	w.produce(0, createCollection(collectionID), insert(7, 1, 10), garbage, insert(7, 2, 10))
	l := w.start()
	until(t, "the flow has started again", func() bool { return l.metric("flowgraph_flow_restarts_total") == 1 })
	if !l.log.has("a fault put here by the test") {
		t.Error("the log does not say why")
	}
	l.until(0, 4).stop()
	w.exact(archive.CheckOptions{})
}

func TestAFlowThatFailsTooOftenEndsTheWorker(t *testing.T) {
	w := newWorld(t, 1)
	w.bucket.Before(func(_ context.Context, c membucket.Call) error {
		if strings.HasPrefix(c.Key, "quarantine/") {
			panic("a fault put here by the test")
		}
		return nil
	})
	w.produce(0, garbage)
	err := w.startWith(func(w *Worker) { w.patience.fails = 3 }).wait()
	if err == nil || !strings.Contains(err.Error(), ErrFailedTooOften.Error()) || !strings.Contains(err.Error(), vchannel(0)) {
		t.Errorf("the error is %v", err)
	}
}

// Rows of a row age although no record comes.
func TestTheLastRowsOfASilentLogAreStored(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10), insert(7, 2, 10), deleteKey(1))
	l := w.start(func(c *Config) { c.Limits.FlushAge = 1 })
	until(t, "the position passes the rows", func() bool { return l.status(0).Seek == 4 })
	w.exact(archive.CheckOptions{Partial: true})
	l.stop()
	w.exact(archive.CheckOptions{})
}
