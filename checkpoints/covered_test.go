package checkpoints_test

import (
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/membucket"
)

// What is stored ahead of the seek position leaves the document. A log that
// was cut back below it would have its new rows dropped unread, if only what
// is left were compared.
func TestWhatHasLeftTheDocumentIsStillCovered(t *testing.T) {
	d, l := fresh(t)
	held := func(c checkpoints.Change, end int64) checkpoints.Change {
		c.Seek, c.ReadFrom, c.End = at(2), at(2), at(end)
		return c
	}
	apply(t, d, held(l.last(segment(1, 3, 9), 2), 9))
	delete(d.Segments, 1)
	if p := d.Covered(); p != at(9) {
		t.Errorf("covered up to %+v, want %+v", p, at(9))
	}
	apply(t, d, held(l.rows(segment(2, 2, 5), 1), 5)) // a shorter pack of a life that reads it again
	if p := d.Covered(); p != at(9) {
		t.Errorf("covered up to %+v after a replay, want %+v", p, at(9))
	}
	apply(t, d, held(event(checkpoints.Event{Kind: checkpoints.CreatePartition, Offset: 11, Partition: 102}), 12), held(moved(0, nil), 20))
	if p := d.Covered(); p != at(12) {
		t.Errorf("covered up to %+v after an event, want %+v", p, at(12))
	}
	apply(t, d, moved(30, nil))
	if p := d.Covered(); p != at(30) {
		t.Errorf("covered up to %+v, the position is %+v", p, d.Seek)
	}
}

// Of documents of earlier releases the offset is known, and no leader epoch.
func TestAnAutoEndAloneIsCoveredWithoutAnEpoch(t *testing.T) {
	d, l := fresh(t)
	c := l.rows(auto(1<<62|1, 1, 7), 1)
	c.Seek, c.ReadFrom = at(1), at(1)
	apply(t, d, c)
	if p := d.Covered(); p != at(7) {
		t.Errorf("covered up to %+v, want %+v", p, at(7))
	}
	delete(d.Segments, 1<<62|1)
	if p := d.Covered(); p.Offset != 7 || p.LeaderEpoch != -1 {
		t.Errorf("covered up to %+v, want offset 7 without an epoch", p)
	}
}

func TestANewLogIsNotHeldAgainstWhatWasReadOfTheOldOne(t *testing.T) {
	b := membucket.New()
	l := begin(t, b)
	c := l.last(segment(1, 3, 900), 2)
	c.End = at(900)
	l.ack(c)
	l.flush()
	second := v0
	second.TopicID = "another"
	d, err := checkpoints.AcceptLog(t.Context(), b, second, 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p := d.Covered(); p.Offset != 3 {
		t.Errorf("covered up to %+v, want 3, where the new log begins", p)
	}
}
