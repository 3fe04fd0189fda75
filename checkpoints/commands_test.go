package checkpoints_test

import (
	"errors"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/membucket"
)

func TestARewindKeepsEndsAndFencesTheOwner(t *testing.T) {
	b := membucket.New()
	l := begin(t, b)
	l.ack(l.rows(segment(1, 0, 5), 2))
	l.ack(l.last(auto(l.names.SegmentID(), 5, 9), 2))
	l.flush()
	d, err := checkpoints.Rewind(t.Context(), b, v0, at(0))
	if err != nil {
		t.Fatal(err)
	}
	if d.ReadFrom.Offset != 0 || d.Seek.Offset != 0 || d.Epoch != 2 || d.Segments[1].End.Offset != 5 ||
		d.Collections[collection].Partitions[partition].AutoEnd != 9 {
		t.Errorf("document %s", asJSON(d))
	}
	l.ack(moved(20, nil))
	wantError(t, l.tracker.Flush(t.Context()), checkpoints.ErrFenced)
	_, err = checkpoints.Rewind(t.Context(), b, v0, at(3))
	wantError(t, err, checkpoints.ErrForward)
}

func TestANewLogInAnOldBucketLosesNoRowToOldEnds(t *testing.T) {
	b := membucket.New()
	l := begin(t, b)
	l.ack(event(checkpoints.Event{Kind: checkpoints.CreateCollection, Offset: 0, Name: "c", Schema: []byte("v1")}))
	l.ack(l.rows(segment(1, 1, 90), 2))
	l.ack(l.last(auto(l.names.SegmentID(), 90, 95), 2))
	l.ack(event(checkpoints.Event{Kind: checkpoints.DropPartition, Offset: 99, Partition: 102}))
	other := event(checkpoints.Event{Kind: checkpoints.DropCollection, Offset: 100})
	other.Event.Collection = 200
	l.ack(other)
	l.flush()
	second := v0
	second.TopicID = "second-topic"

	// The command dies between its two steps and is given again.
	down := errors.New("down")
	b.Before(refuse(membucket.Put, "segments/", down))
	_, err := checkpoints.AcceptLog(t.Context(), b, second, 3, nil)
	wantError(t, err, down)
	b.Before(nil)
	d, err := checkpoints.AcceptLog(t.Context(), b, second, 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := d.Collections[collection]
	if d.TopicID != "second-topic" || d.ReadFrom.Offset != 3 || d.Seek.Offset != 3 || len(d.Segments) != 0 || d.Epoch != 4 {
		t.Errorf("document %s", asJSON(d))
	}
	if c.LastDDL != -1 || c.Name != "c" || string(c.Schema) != "v1" || c.Partitions[partition].AutoEnd != 0 || c.Partitions[102] != nil || d.Collections[200] != nil {
		t.Errorf("collections %s", asJSON(d.Collections))
	}
	if k := lookup(t, b, second, 1); k.State != checkpoints.Flushed || k.End.Offset != 0 {
		t.Errorf("the old log's segment is %+v to the new one", k)
	}
	if k := lookup(t, b, v0, 1); k.End.Offset != 90 {
		t.Errorf("the old log's manifest says %+v", k)
	}
	if _, _, err := checkpoints.Claim(t.Context(), b, second, 3); err != nil {
		t.Error(err)
	}
	_, err = checkpoints.AcceptLog(t.Context(), b, second, 3, nil)
	wantError(t, err, checkpoints.ErrSameLog)
}
