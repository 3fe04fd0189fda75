package flows

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/msgpb"
	"github.com/prometheus/client_golang/prometheus"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/sinks"
	"flowgraph/stages"
)

// series is one series of a metric that has a single label.
func (l *life) series(name, value string) float64 {
	l.t.Helper()
	families, err := l.registry.Gather()
	if err != nil {
		l.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && len(m.GetLabel()) == 1 && m.GetLabel()[0].GetValue() == value {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	l.t.Fatalf("there is no %s of %s", name, value)
	return 0
}

// The words of a reason are without number: a label must not be. And whoever
// reads the label must look in the right place.
func TestEachKindOfBadRecordIsCountedAsItself(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), createCollection(collectionID+1), insert(7, 1, 10),
		nil,
		marshal(&msgpb.TimeTickMsg{Base: base(commonpb.MsgType(7777))}),
		garbage,
		insertInto(collectionID+1, 7, 2, 10), // the segment is the first collection's
		marshal(&msgpb.InsertRequest{
			Base: base(commonpb.MsgType_Insert), CollectionID: collectionID, PartitionID: partitionID, SegmentID: 7, NumRows: 1,
			RowIDs: []int64{9}, Timestamps: []uint64{9 << 18}, Version: msgpb.InsertDataVersion_ColumnBased, // no columns
		}))
	l := w.start().until(0, 8)
	l.stop()
	for _, kind := range stages.BadKinds {
		if n := l.series("flowgraph_quarantined_records_total", string(kind)); n != 1 {
			t.Errorf("%g records are %s, want 1", n, kind)
		}
	}
	w.exact(archive.CheckOptions{})
}

// An idle log must not fall behind with the clock, and a tick of 0 is no
// moment of 1970.
func TestAPositionAtTheLogsEndIsNotBehind(t *testing.T) {
	now := time.Unix(5000, 0)
	for _, c := range []struct {
		name        string
		offset, end int64
		tick        uint64
		behind      time.Duration
		known       bool
	}{
		{"at the end for an hour", 9, 9, 1400_000 << 18, 0, true},
		{"before the end", 8, 9, 4990_000 << 18, 10 * time.Second, true},
		{"the counter is no time", 8, 9, 4990_000<<18 | 0x3ffff, 10 * time.Second, true},
		{"Milvus' clock is ahead", 8, 9, 5001_000 << 18, 0, true},
		{"before any tick", 0, 9, 0, 0, false},
		{"an empty log", 0, 0, 0, 0, true},
	} {
		if d, known := behind(c.offset, c.end, tickTime(c.tick), now); d != c.behind || known != c.known {
			t.Errorf("%s: %s behind, known %t", c.name, d, known)
		}
	}
}

// A row is not stored when its segment is cut, but when its files are.
func TestTheOldestRowCountsUntilItsFilesAreStored(t *testing.T) {
	var u unstored
	b, err := stages.NewBuffer(&checkpoints.Document{}, stages.BufferConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if at := u.oldest(); at != 0 {
		t.Errorf("of nothing the oldest is %d", at)
	}
	u.placed(b, []*stages.Cut{{Seq: 1, Since: 200}, {Seq: 2}, {Seq: 3, Since: 100}})
	if at := u.oldest(); at != 100 {
		t.Errorf("the oldest is %d, want 100", at)
	}
	u.done(3)
	u.done(2)
	if at := u.oldest(); at != 200 {
		t.Errorf("the oldest is %d, want 200", at)
	}
	u.done(1)
	if at := u.oldest(); at != 0 {
		t.Errorf("all is stored, and the oldest is %d", at)
	}
}

// A pause that goes on must show before it ends, and not count twice.
func TestAPauseCountsWhileItLasts(t *testing.T) {
	var s stopwatch
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	s.set(true, at(10))
	s.set(true, at(12)) // still
	if total, since := s.read(at(15)); total != 5*time.Second || !since.Equal(at(10)) {
		t.Errorf("%s since %v", total, since)
	}
	s.set(false, at(20))
	s.set(false, at(25))
	s.set(true, at(30))
	if total, _ := s.read(at(31)); total != 11*time.Second {
		t.Errorf("%s, want 11 s", total)
	}
}

// The store's metrics are what its hooks were told.
func TestTheStoresMetricsFollowItsHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		m := NewStoreMetrics(reg)
		h := m.Hooks()
		h.Request("put", 100, time.Second, sinks.OK)
		h.Request("put", 100, time.Second, sinks.Throttled)
		h.Request("get", 30, time.Second, sinks.OK)
		h.Request("stat", 0, time.Second, sinks.Absent)
		h.Retry("put", sinks.Throttled)
		h.Waiting(sinks.Waiting{Calls: 2, Since: time.Now().Add(-time.Minute)})
		l := &life{t: t, registry: reg}
		for name, want := range map[string]float64{
			"flowgraph_store_requests_total": 4, "flowgraph_store_retries_total": 1,
			"flowgraph_store_sent_bytes_total": 100, "flowgraph_store_received_bytes_total": 30,
			"flowgraph_store_waiting_calls": 2, "flowgraph_store_waiting_seconds": 60,
		} {
			if n := l.metric(name); n != want {
				t.Errorf("%s is %g, want %g", name, n, want)
			}
		}
		h.Waiting(sinks.Waiting{})
		time.Sleep(time.Minute)
		if n := l.metric("flowgraph_store_waiting_seconds"); n != 0 {
			t.Errorf("nothing waits, for %g s", n)
		}
	})
}
