package flows

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/reugn/go-streams/extension"
	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
	"flowgraph/internal/recording"
)

// What other systems that do this job were found to do; docs/failures.md has
// the whole list.

// The last offsets of a log may carry no record at all: a worker that counts
// records would show a lag for ever, and read them again after each start.
func TestLagNeverEndsWhereTheLastOffsetsCarryNoRecord(t *testing.T) {
	w := newWorld(t, 1)
	w.transaction(kgo.TryCommit, createCollection(collectionID), insert(7, 1, 10))
	w.transaction(kgo.TryCommit, insert(7, 2, 10))
	w.transaction(kgo.TryAbort, insert(7, 3, 10))
	l := w.startWith(eager, func(c *Config) { c.Limits.FlushAge = 1 })
	until(t, "the position is behind the last marker", func() bool { return l.status(0).Seek == 7 })
	if s := l.status(0); s.Lag != 0 || s.LogEnd != 7 {
		t.Errorf("lag %d, log end %d", s.Lag, s.LogEnd)
	}
	l.stop()
	l = w.start().until(0, 7)
	l.stop()
	if n := l.metric("flowgraph_filtered_rows_total") + l.metric("flowgraph_lost_offsets_total"); n != 0 {
		t.Errorf("%g rows were read again or taken for lost", n)
	}
	w.exact(archive.CheckOptions{})
}

// transaction writes values to partition 0 as a transactional producer does;
// those of an aborted one are not expected.
func (w *world) transaction(end kgo.TransactionEndTry, values ...[]byte) {
	w.t.Helper()
	producer, err := kgo.NewClient(kgo.SeedBrokers(w.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionalID("t"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer producer.Close()
	if err := producer.BeginTransaction(); err != nil {
		w.t.Fatal(err)
	}
	for _, v := range values {
		r, err := producer.ProduceSync(w.t.Context(), &kgo.Record{Topic: topic, Value: v}).First()
		if err != nil {
			w.t.Fatal(err)
		}
		if end == kgo.TryCommit {
			w.written = append(w.written, recording.Record{Topic: topic, Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli(), Value: v})
		}
	}
	if err := producer.EndTransaction(w.t.Context(), end); err != nil {
		w.t.Fatal(err)
	}
}

// Deletes without any insert beside them age, hold the position, and are
// stored once.
func TestDeletesAloneAreNeitherLostNorDoubled(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID))
	w.produce(0, inserts(7, 1, 3, 10)...)
	w.start().until(0, 4).stop()
	w.produce(0, deleteKey(2))
	l := w.start(func(c *Config) { c.Limits.FlushAge = 1 })
	until(t, "the position passes the delete", func() bool { return l.status(0).Seek == 5 })
	l.kill()
	l = w.start().until(0, 5)
	l.stop()
	if d := w.document(0); d.Seek.Offset != 5 || len(w.bucket.Keys("delta_log/")) != 1 {
		t.Errorf("seek position %d, delete logs %q", d.Seek.Offset, w.bucket.Keys("delta_log/"))
	}
	w.exact(archive.CheckOptions{})
}

// Memory is short, the store accepts and never answers, and the worker is
// stopped: the wait for memory must not outlive the grace period.
func TestAStopWaitsForMemoryThatNeverComesFree(t *testing.T) {
	w := newWorld(t, 2)
	for p := range int32(2) {
		w.produce(p, createCollection(collectionID))
		w.produce(p, inserts(int64(10+p), int64(1000*p), 300, 60000)...)
	}
	hung := w.hold(membucket.Put, "insert_log/")
	l := w.start(small, func(c *Config) { c.Grace = 300 * time.Millisecond })
	until(t, "memory is short", func() bool { return hung.waits() && l.shared.Budget.Over() > 0 })
	l.drain()
	if err := l.wait(); !errors.Is(err, ErrGrace) {
		t.Errorf("the error is %v", err)
	}
	w.bucket.Before(nil)
	w.start().until(0, 301).until(1, 301).stop()
	w.exact(archive.CheckOptions{Partial: true})
}

// A long replay that is killed again and again gets further with each life,
// else a probe that kills it makes it last for ever.
func TestAReplayThatIsKilledBeginsWhereItBegan(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID))
	w.produce(0, inserts(7, 1, 400, 20000)...)
	from := int64(0)
	for life := 0; from < 401; life++ {
		if life > 100 {
			t.Fatalf("after %d lives the position is %d", life, from)
		}
		l := w.startWith(eager, small)
		until(t, "the position has moved", func() bool { return l.status(0).Seek > from })
		if life == 0 {
			if s := l.status(0); s.LogEnd != 401 || s.State != "running" {
				t.Errorf("a replay shows as %s, to end at %d", s.State, s.LogEnd)
			}
		}
		from = l.status(0).Seek
		if from == 401 {
			l.stop()
		} else if from+20 > 401 {
			l.until(0, 401).stop()
			break
		} else {
			l.kill()
		}
		if d := w.document(0); d.Seek.Offset < from {
			t.Fatalf("life %d showed %d and stored %d", life, from, d.Seek.Offset)
		}
	}
	w.exact(archive.CheckOptions{Partial: true})
}

// A record without a value ends nothing, whatever else it has, and is told
// from one whose headers say what it is.
func TestARecordWithoutAValueStopsAPartition(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID))
	bare := []*kgo.Record{
		{Topic: topic, Key: []byte("key")}, {Topic: topic, Key: []byte("key"), Value: []byte{}},
		{Topic: topic, Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("v")}}},
	}
	if err := w.client.ProduceSync(t.Context(), bare...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	w.written = append(w.written, recording.Record{Topic: topic, Offset: 1, Key: []byte("key")},
		recording.Record{Topic: topic, Offset: 2, Key: []byte("key"), Value: []byte{}},
		recording.Record{Topic: topic, Offset: 3, Headers: []recording.Header{{Name: "h", Value: []byte("v")}}})
	w.produce(0, insert(7, 1, 10))
	l := w.start().until(0, 5)
	l.stop()
	keys := w.bucket.Keys("quarantine/")
	if len(keys) != 3 || w.document(0).Seek.Offset != 5 {
		t.Fatalf("seek position %d, quarantine %q", w.document(0).Seek.Offset, keys)
	}
	for _, k := range keys {
		if !strings.Contains(string(w.bucket.Data(k)), "empty") {
			t.Errorf("%s does not say why: %s", k, w.bucket.Data(k))
		}
	}
	w.exact(archive.CheckOptions{})
}

// One faulty producer may write faults by the thousand; a line for each would
// fill the disk and hide everything else.
func TestManyBadRecordsFloodTheLog(t *testing.T) {
	const bad = 2000
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID))
	var values [][]byte
	for range bad {
		values = append(values, garbage)
	}
	w.produce(0, values...)
	l := w.start().until(0, 1+bad)
	l.stop()
	if n := l.metric("flowgraph_quarantined_records_total"); n != bad {
		t.Errorf("%g quarantined records counted", n)
	}
	if n := strings.Count(l.log.text.String(), "bad record"); n == 0 || n > 100 {
		t.Errorf("%d lines for %d bad records", n, bad)
	}
}

// A chain whose input ends at once hands on what it took, each time.
func TestAnInputThatEndsAtOnceLosesItsLastElement(t *testing.T) {
	for n := range 1000 {
		ctx, cancel := context.WithCancelCause(t.Context())
		r := &run{ctx: ctx, fail: cancel}
		in, out := make(chan any, 2), make(chan any, 2)
		for i := range 1 + n%2 {
			in <- &i
		}
		close(in)
		pass := func(_ context.Context, i *int) ([]*int, error) { return []*int{i}, nil }
		extension.NewChanSource(in).Via(lift(r, "a", pass)).Via(lift(r, "b", pass)).To(extension.NewChanSink(out))
		got := 0
		for range out {
			got++
		}
		cancel(nil)
		if got != 1+n%2 {
			t.Fatalf("run %d: %d elements came out", n, got)
		}
	}
}

// A partition that is paused and resumed all the time gives every record, in
// order, over the connections that it has.
func TestPausesLoseOrReorderRecords(t *testing.T) {
	w := newWorld(t, 2)
	l := w.start().until(0, 0).until(1, 0)
	w.produce(0, createCollection(collectionID))
	for i := range int64(1000) {
		l.client.PauseFetchPartitions(map[string][]int32{topic: {0}})
		if i%20 == 0 {
			w.produce(0, insert(7, 1+i, 100))
		}
		l.client.ResumeFetchPartitions(map[string][]int32{topic: {0}})
	}
	l.until(0, 51).stop()
	if n := l.metric("flowgraph_flow_restarts_total"); n != 0 {
		t.Errorf("%g restarts", n)
	}
	w.exact(archive.CheckOptions{})
}
