package flows

import (
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"flowgraph/checkpoints"
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
func gap(w *world, start int64) {
	w.t.Helper()
	w.produce(0, createCollection(collectionID))
	w.produce(0, inserts(7, 1, 4, 10)...)
	w.start().until(0, 5).stop()
	w.produce(0, inserts(7, 10, 5, 10)...)
	w.trim(0, start)
}

func TestAGapStopsItsVChannelAndNamesTheRange(t *testing.T) {
	w := newWorld(t, 2)
	gap(w, 8)
	w.produce(1, createCollection(collectionID), insert(8, 100, 10))
	l := w.start()
	s := l.has(0, "stopped")
	if !strings.Contains(s.Error, "offsets 5 to 7 are lost") {
		t.Errorf("the error is %q", s.Error)
	}
	l.until(1, 2)
	if n := l.metric("flowgraph_lost_offsets_total"); n != 3 {
		t.Errorf("%g lost offsets counted, want 3", n)
	}
	l.stop()
	if d := w.document(0); d.Seek.Offset != 5 {
		t.Errorf("the position moved to %d", d.Seek.Offset)
	}
	if d := w.document(1); d.Seek.Offset != 2 {
		t.Errorf("the other vchannel is at %d", d.Seek.Offset)
	}
}

func TestOnGapContinueGoesOnBehindItLoudly(t *testing.T) {
	w := newWorld(t, 1)
	gap(w, 8)
	l := w.start(func(c *Config) { c.GapGoOn = true }).until(0, 10)
	if n := l.metric("flowgraph_lost_offsets_total"); n != 3 || !l.log.has("offsets 5 to 7 are lost") {
		t.Errorf("%g lost offsets counted, want 3", n)
	}
	l.stop()
	if d := w.document(0); d.Seek.Offset != 10 {
		t.Errorf("seek position %d", d.Seek.Offset)
	}
	w.written = append(w.written[:5:5], w.written[8:]...)
	w.exact(archive.CheckOptions{})
}

// The log loses what is about to be read while the worker runs.
func TestAGapThatOpensWhileReadingIsFound(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID))
	l := w.start().until(0, 1)
	w.pauseOf(l, func() {
		w.produce(0, inserts(7, 1, 9, 10)...)
		w.trim(0, 6)
	})
	s := l.has(0, "stopped")
	if !strings.Contains(s.Error, "offsets 1 to 5 are lost") && !strings.Contains(s.Error, "offsets 0 to 5 are lost") {
		t.Errorf("the error is %q", s.Error)
	}
}

// pauseOf does something while the worker fetches nothing.
func (w *world) pauseOf(l *life, do func()) {
	l.client.PauseFetchTopics(topic)
	do()
	l.client.ResumeFetchTopics(topic)
}

func TestALogThatEndsBeforeThePositionStopsItsVChannel(t *testing.T) {
	for _, goOn := range []bool{false, true} {
		w := newWorld(t, 1)
		w.produce(0, createCollection(collectionID), insert(7, 1, 10))
		w.start().until(0, 2).stop()
		d := w.document(0)
		d.Seek.Offset, d.ReadFrom.Offset, d.Sequence = 90, 90, d.Sequence+1
		w.store(d)
		l := w.start(func(c *Config) { c.GapGoOn = goOn })
		s := l.has(0, "stopped")
		if !strings.Contains(s.Error, "from offset 90") || !strings.Contains(s.Error, "ends at 2") {
			t.Errorf("the error is %q", s.Error)
		}
		l.stop()
	}
}

// store writes a document as somebody else's hand would.
func (w *world) store(d *checkpoints.Document) {
	w.t.Helper()
	data, err := d.Encode()
	if err != nil {
		w.t.Fatal(err)
	}
	w.bucket.Set(checkpoints.DocumentKey(d.VChannel), data)
}

func TestATopicCreatedAnewBeforeTheStartStopsItsVChannel(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10))
	w.start().until(0, 2).stop()
	old := w.document(0).TopicID
	w.remove(topic)
	w.create(topic, 1)
	l := w.start()
	s := l.has(0, "stopped")
	if a := l.parts[partition{topic, 0}]; !strings.Contains(s.Error, old) || !strings.Contains(s.Error, *a.topicID.Load()) {
		t.Errorf("the error does not name both IDs: %q", s.Error)
	}
	l.stop()
	if d := w.document(0); d.TopicID != old || d.Epoch != 1 {
		t.Errorf("the document was claimed for the new log: epoch %d", d.Epoch)
	}
}

func TestATopicCreatedAnewWhileRunningStopsItsVChannel(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10))
	l := w.start().until(0, 2)
	w.remove(topic)
	w.create(topic, 1)
	w.forget()
	w.dial()
	w.produce(0, createCollection(collectionID), insert(7, 1, 10), insert(7, 2, 10), insert(7, 3, 10))
	until(t, "the vchannel is stopped", func() bool { return errors.Is(l.failure(0), checkpoints.ErrTopicRecreated) })
	l.drain()
	l.wait()
	if d := w.document(0); d.Seek.Offset > 2 {
		t.Errorf("records of the new log moved the position to %d", d.Seek.Offset)
	}
}

// failure is why the last flow of a partition ended.
func (l *life) failure(id int32) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.parts[partition{topic, id}]; a != nil {
		if err := a.failure.Load(); err != nil {
			return *err
		}
	}
	return nil
}
