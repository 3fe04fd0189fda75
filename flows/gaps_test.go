package flows

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
)

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

func TestAGapThatOpensWhileReadingIsFound(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID))
	l := w.start().until(0, 1)
	// A fetch that was under way may bring the records before they go: then
	// there was no gap, and the next ones may make it.
	for end := int64(1); ; end += 9 {
		w.pauseOf(l, func() {
			w.produce(0, inserts(7, end, 9, 10)...)
			w.trim(0, end+5)
		})
		var s FlowStatus
		until(t, "the gap is found or read", func() bool {
			s = l.status(0)
			return s.State == "stopped" || s.Read == end+9
		})
		if s.State != "stopped" {
			continue
		}
		if want := fmt.Sprintf("to %d are lost", end+4); !strings.Contains(s.Error, want) {
			t.Errorf("the error is %q, want %q", s.Error, want)
		}
		return
	}
}

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
