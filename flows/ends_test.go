package flows

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
	"flowgraph/internal/recording"
)

func toTheEnd(c *Config) { c.UntilEnd = true }

// A worker that is quick must not end before it has read anything.
func TestUntilEndReadsEveryLogToItsEnd(t *testing.T) {
	w := newWorld(t, 4)
	w.create("by-dev-rootcoord-dml_1", 1) // stays empty
	for p := range int32(3) {             // the fourth stays empty
		w.produce(p, createCollection(collectionID))
		w.produce(p, inserts(int64(10+p), int64(1000*p), 20, 100)...)
	}
	if err := w.start(toTheEnd).wait(); err != nil {
		t.Fatal(err)
	}
	for p := range int32(3) {
		if d := w.document(p); d.Seek.Offset != 21 {
			t.Errorf("vchannel %d ended at %d", p, d.Seek.Offset)
		}
	}
	w.exact(archive.CheckOptions{})
	calls := len(w.bucket.Calls(membucket.Put, "insert_log/"))
	if err := w.start(toTheEnd).wait(); err != nil {
		t.Fatal(err)
	}
	if again := len(w.bucket.Calls(membucket.Put, "insert_log/")); again != calls {
		t.Errorf("running again stored %d files", again-calls)
	}
}

func TestUntilEndStopsWhereTheLogsEndedAtItsStart(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10))
	claims := w.hold(membucket.Get, "checkpoints/")
	l := w.start(toTheEnd)
	until(t, "the flow claims", claims.waits)
	w.produce(0, insert(7, 2, 10))
	claims.open()
	if err := l.wait(); err != nil {
		t.Fatal(err)
	}
	if d := w.document(0); d.Seek.Offset != 2 {
		t.Errorf("seek position %d, want 2", d.Seek.Offset)
	}
}

// Markers and aborted records take offsets and never arrive as rows.
func TestUntilEndReachesALogEndThatIsATransactionMarker(t *testing.T) {
	w := newWorld(t, 1)
	producer, err := kgo.NewClient(kgo.SeedBrokers(w.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionalID("t"))
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	transaction := func(end kgo.TransactionEndTry, values ...[]byte) {
		t.Helper()
		if err := producer.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			r, err := producer.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: v}).First()
			if err != nil {
				t.Fatal(err)
			}
			if end == kgo.TryCommit {
				w.written = append(w.written, recording.Record{Topic: topic, Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli(), Value: v})
			}
		}
		if err := producer.EndTransaction(t.Context(), end); err != nil {
			t.Fatal(err)
		}
	}
	transaction(kgo.TryCommit, createCollection(collectionID), insert(7, 1, 10))
	transaction(kgo.TryAbort, insert(7, 2, 10), insert(7, 3, 10))
	transaction(kgo.TryCommit, insert(7, 4, 10))
	l := w.start(toTheEnd)
	if err := l.wait(); err != nil {
		t.Fatal(err)
	}
	if d := w.document(0); d.Seek.Offset != 8 {
		t.Errorf("seek position %d, want 8", d.Seek.Offset)
	}
	if k := w.groupOffset(0); k != 8 {
		t.Errorf("the group was told %d, want 8", k)
	}
	if n := l.metric("flowgraph_lost_offsets_total"); n != 0 {
		t.Errorf("%g offsets counted as lost", n)
	}
	w.exact(archive.CheckOptions{})
}

func TestUntilEndWithTwoWorkersEndsBoth(t *testing.T) {
	w := newWorld(t, 4)
	for p := range int32(4) {
		w.produce(p, createCollection(collectionID))
		w.produce(p, inserts(int64(10+p), int64(1000*p), 50, 100)...)
	}
	a, b := w.start(toTheEnd), w.start(toTheEnd)
	if err := errors.Join(a.wait(), b.wait()); err != nil {
		t.Fatal(err)
	}
	w.exact(archive.CheckOptions{})
}

// A vchannel that is stopped gets no further: the worker ends, and says so.
func TestUntilEndNamesTheVChannelsThatAreStopped(t *testing.T) {
	for _, denied := range []bool{false, true} {
		t.Run(fmt.Sprint("denied ", denied), func(t *testing.T) {
			w := newWorld(t, 2)
			if denied {
				w.bucket.Before(refuse(membucket.Get, "checkpoints/"+vchannel(0)))
			} else {
				w.produce(0, garbage)
			}
			w.produce(1, createCollection(collectionID), insert(7, 1, 10))
			err := w.start(toTheEnd, func(c *Config) { c.StopOnBad = true }).wait()
			if !errors.Is(err, ErrStopped) || !strings.Contains(err.Error(), vchannel(0)) || strings.Contains(err.Error(), vchannel(1)) {
				t.Errorf("the error is %v", err)
			}
			w.bucket.Before(nil)
			if d := w.document(1); d.Seek.Offset != 2 {
				t.Errorf("the other vchannel ended at %d", d.Seek.Offset)
			}
		})
	}
}

func TestUntilEndOfNoTopicIsAnError(t *testing.T) {
	w := newWorld(t, 0)
	if err := w.start(toTheEnd).wait(); err == nil || !strings.Contains(err.Error(), "no topic matches") {
		t.Errorf("the error is %v", err)
	}
}

func TestUntilEndOfAListReadsTheListAlone(t *testing.T) {
	w := newWorld(t, 2)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10))
	w.produce(1, createCollection(collectionID), insert(8, 100, 10))
	list := func(c *Config) { c.Topics, c.Partitions = nil, map[string][]int32{topic: {1}} }
	if err := w.start(toTheEnd, list).wait(); err != nil {
		t.Fatal(err)
	}
	if d := w.document(1); d.Seek.Offset != 2 {
		t.Errorf("seek position %d", d.Seek.Offset)
	}
	if keys := w.bucket.Keys("checkpoints/" + vchannel(0)); len(keys) > 0 {
		t.Errorf("partition 0 was read: %q", keys)
	}
	if k := w.groupOffset(1); k != -1 {
		t.Errorf("a group was told %d", k)
	}
}

func TestUntilEndOfAPartitionThatIsNotThereIsAnError(t *testing.T) {
	w := newWorld(t, 1)
	list := func(c *Config) { c.Topics, c.Partitions = nil, map[string][]int32{topic: {5}} }
	if err := w.start(toTheEnd, list).wait(); err == nil || !strings.Contains(err.Error(), topic+":5") {
		t.Errorf("the error is %v", err)
	}
}
