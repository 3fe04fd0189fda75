package flows

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"flowgraph/internal/archive"
)

// Five lives over a log that grows: each goes on where the one before
// committed.
func TestEachLifeGoesOnFromTheCheckpoint(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID))
	for life := range int64(5) {
		w.produce(0, inserts(7, 1+10*life, 3, 10)...)
		l := w.start()
		until(t, "the rows are read", func() bool { return l.metric("flowgraph_rows_total")+l.metric("flowgraph_vchannel_buffered_bytes") > 0 })
		l.stop()
		end := 1 + 3*(life+1)
		if d := w.document(0); d.Seek.Offset != end || d.Epoch != life+1 {
			t.Fatalf("life %d: seek position %d, epoch %d, want %d, %d", life, d.Seek.Offset, d.Epoch, end, life+1)
		}
		if k := w.groupOffset(0); k != end {
			t.Errorf("life %d: the group was told %d, want %d", life, k, end)
		}
	}
	w.exact(archive.CheckOptions{})
}

// K is 200 or unknown, the document says less: the document decides.
func TestWhatKafkaStoredForTheGroupIsNeverUsed(t *testing.T) {
	for _, k := range []int64{200, 3, -1} {
		w := newWorld(t, 1)
		w.produce(0, createCollection(collectionID))
		w.produce(0, inserts(7, 1, 119, 10)...)
		w.start().until(0, 120).stop()
		w.produce(0, inserts(7, 1000, 80, 10)...)
		if k >= 0 {
			var o kadm.Offsets
			o.AddOffset(topic, 0, k, -1)
			if _, err := w.admin().CommitOffsets(t.Context(), "flowgraph", o); err != nil {
				t.Fatal(err)
			}
		} else if _, err := w.admin().DeleteGroup(t.Context(), "flowgraph"); err != nil {
			t.Fatal(err)
		}
		w.start().until(0, 200).stop()
		w.exact(archive.CheckOptions{})
	}
}

// until waits until everything below an offset is read.
func (l *life) until(partition int32, offset int64) *life {
	l.t.Helper()
	until(l.t, "everything is read", func() bool { s := l.status(partition); return s.State == "running" && s.Read >= offset })
	return l
}

func TestWithoutADocumentReadingBeginsAtTheLogsBeginning(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, garbage, createCollection(collectionID), insert(7, 1, 10))
	var o kadm.Offsets
	o.AddOffset(topic, 0, 3, -1)
	if _, err := w.admin().CommitOffsets(t.Context(), "flowgraph", o); err != nil {
		t.Fatal(err)
	}
	w.start().until(0, 3).stop()
	w.exact(archive.CheckOptions{})
	if keys := w.bucket.Keys("quarantine/"); len(keys) != 1 {
		t.Errorf("record 0 is not in quarantine: %q", keys)
	}
}

// A log whose first records are gone before anybody read them has no gap.
func TestAFirstStartBehindOffset0IsNoGap(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, tick(1), tick(2))
	w.trim(0, 2)
	w.forget()
	w.produce(0, createCollection(collectionID), insert(7, 1, 10))
	w.start().until(0, 4).stop()
	w.exact(archive.CheckOptions{})
}

// trim moves a log's start.
func (w *world) trim(partition int32, start int64) {
	w.t.Helper()
	var o kadm.Offsets
	o.AddOffset(topic, partition, start, -1)
	if _, err := w.admin().DeleteRecords(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

func TestAnEmptyPartitionIsReady(t *testing.T) {
	w := newWorld(t, 2)
	l := w.start()
	until(t, "the worker is ready", l.Ready)
	l.stop()
	if d := w.document(1); d.Seek.Offset != 0 {
		t.Errorf("seek position %d", d.Seek.Offset)
	}
}

// Offset 0 is an ordinary offset: persisted, it is not read again; the next
// life begins at 1.
func TestRecord0AloneIsStoredOnce(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID))
	w.start().until(0, 1).stop()
	if d := w.document(0); d.Seek.Offset != 1 {
		t.Fatalf("seek position %d", d.Seek.Offset)
	}
	w.produce(0, insert(7, 1, 10))
	w.start().until(0, 2).stop()
	w.exact(archive.CheckOptions{})
}

func TestAPartitionAddedWhileRunningIsReadFromItsBeginning(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10))
	l := w.start().until(0, 2)
	if _, err := w.admin().CreatePartitions(t.Context(), 1, topic); err != nil {
		t.Fatal(err)
	}
	w.dial()
	w.produce(1, createCollection(collectionID), insert(8, 2, 10))
	l.until(1, 2).stop()
	w.exact(archive.CheckOptions{})
}

func TestATopicCreatedWhileRunningIsPickedUp(t *testing.T) {
	w := newWorld(t, 1)
	w.create("another", 1)
	l := w.start().until(0, 0)
	l.has(0, "running")
	w.create("by-dev-rootcoord-dml_1", 1)
	w.produceTo("by-dev-rootcoord-dml_1", 0, createCollection(collectionID), insert(7, 1, 10))
	until(t, "the new topic is read", func() bool { return l.metric("flowgraph_vchannel_buffered_bytes") > 0 })
	l.stop()
	w.exact(archive.CheckOptions{})
	if keys := w.bucket.Keys("checkpoints/another"); len(keys) > 0 {
		t.Errorf("a topic that does not match was read: %q", keys)
	}
}

// gap writes ten records, has five of them stored, and loses up to the
// offset of the log.
// The log loses what is about to be read while the worker runs.
// pauseOf does something while the worker fetches nothing.
// store writes a document as somebody else's hand would.
// failure is why the last flow of a partition ended.
