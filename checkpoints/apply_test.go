package checkpoints_test

import (
	"maps"
	"slices"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/membucket"
)

// fresh is a document to apply changes to, and names for its logs.
func fresh(t *testing.T) (*checkpoints.Document, *life) {
	l := begin(t, membucket.New())
	d := *l.doc
	return &d, l
}

func apply(t *testing.T, d *checkpoints.Document, changes ...checkpoints.Change) {
	t.Helper()
	for i, c := range changes {
		if err := d.Apply(c); err != nil {
			t.Fatalf("change %d: %v", i, err)
		}
	}
	if _, err := d.Encode(); err != nil {
		t.Fatal(err)
	}
}

func TestPositionsAndEndsNeverMoveBack(t *testing.T) {
	d, l := fresh(t)
	apply(t, d, l.rows(segment(1, 2, 8), 2), moved(8, nil))
	replayed := empty(segment(1, 2, 4)) // sealed by age during replay
	apply(t, d, replayed)
	if s := d.Segments[1]; s.End.Offset != 8 || s.State != checkpoints.Flushed || d.Seek.Offset != 8 || d.ReadFrom.Offset != 8 {
		t.Errorf("end %d, state %d, seek %d", s.End.Offset, s.State, d.Seek.Offset)
	}
}

func TestATickAtTheSameOffsetIsKept(t *testing.T) {
	d, _ := fresh(t)
	p := at(0)
	p.Tick = 77
	apply(t, d, checkpoints.Change{Seek: p, ReadFrom: p})
	apply(t, d, checkpoints.Change{Seek: at(0), ReadFrom: at(0)})
	if d.Seek.Tick != 77 {
		t.Errorf("tick %d", d.Seek.Tick)
	}
}

func TestDeletesDoNotRaiseTheEndOfRows(t *testing.T) {
	d, l := fresh(t)
	apply(t, d, l.rows(deletes(1<<62|1, 0, 10), 1), l.rows(auto(1<<62|2, 3, 6), 1))
	p := d.Collections[collection].Partitions[partition]
	if p.AutoEnd != 6 || p.AutoEndDelete != 10 {
		t.Errorf("auto ends %d and %d", p.AutoEnd, p.AutoEndDelete)
	}
	all := deletes(1<<62|3, 0, 12)
	all.Partition = -1
	apply(t, d, l.rows(all, 1), empty(auto(1<<62|2, 3, 11)))
	parts := d.Collections[collection].Partitions
	if parts[-1].AutoEndDelete != 12 || parts[-1].AutoEnd != 0 || parts[partition].AutoEnd != 11 {
		t.Errorf("partitions %s", asJSON(parts))
	}
}

func TestTheStartOfAnUnpersistedSegmentIsOnlyInformation(t *testing.T) {
	d, l := fresh(t)
	met := moved(0, nil)
	met.New = []checkpoints.Segment{segment(1, 5, 0)}
	apply(t, d, met)
	if s := d.Segments[1]; s.State != checkpoints.New || s.Start.Offset != 5 || s.End.Offset != 0 {
		t.Fatalf("met: %s", asJSON(s))
	}
	apply(t, d, l.rows(segment(1, 2, 8), 2), l.rows(segment(1, 0, 9), 1))
	if s := d.Segments[1]; s.Start.Offset != 2 || s.End.Offset != 9 || s.Rows != 3 || len(s.Logs) != 2 {
		t.Errorf("flushed: %s", asJSON(s))
	}
	apply(t, d, met) // told again
	if s := d.Segments[1]; s.State != checkpoints.Normal {
		t.Errorf("met again: %s", asJSON(s))
	}
}

func TestAFlushedSegmentNeverChanges(t *testing.T) {
	d, l := fresh(t)
	apply(t, d, l.last(segment(1, 0, 5), 2))
	before := asJSON(d.Segments[1])
	apply(t, d, empty(segment(1, 0, 9))) // sealed by two triggers
	if after := asJSON(d.Segments[1]); after != before {
		t.Errorf("%s became %s", before, after)
	}
	wantError(t, d.Apply(l.rows(segment(1, 5, 9), 1)), checkpoints.ErrChange)
}

func TestASegmentElsewhereOrOfAnotherSchemaIsNotMixedIn(t *testing.T) {
	for name, change := range map[string]func(*checkpoints.Segment){
		"partition":  func(s *checkpoints.Segment) { s.Partition++ },
		"collection": func(s *checkpoints.Segment) { s.Collection++ },
		"level":      func(s *checkpoints.Segment) { s.Level = checkpoints.L0 },
		"auto":       func(s *checkpoints.Segment) { s.Auto = true },
		"fields":     func(s *checkpoints.Segment) { s.Fields = []int64{0, 1, 100, 101} },
		"no end":     func(s *checkpoints.Segment) { s.End = checkpoints.Position{} },
	} {
		d, l := fresh(t)
		apply(t, d, l.rows(segment(1, 0, 5), 2))
		s := segment(1, 5, 9)
		change(&s)
		if err := d.Apply(l.rows(s, 1)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestASnapshotDoesNotSeeLaterChanges(t *testing.T) {
	d, l := fresh(t)
	apply(t, d, event(checkpoints.Event{Kind: checkpoints.CreateCollection, Offset: 0, Name: "c", Schema: []byte("v1")}),
		l.rows(segment(1, 1, 5), 2), l.rows(auto(1<<62|1, 5, 6), 1))
	snapshot := *d
	snapshot.Collections, snapshot.Segments = maps.Clone(d.Collections), maps.Clone(d.Segments)
	before := asJSON(snapshot)
	apply(t, d, l.last(segment(1, 6, 7), 2), l.rows(auto(1<<62|1, 7, 8), 1), l.rows(deletes(1<<62|2, 8, 9), 1),
		event(checkpoints.Event{Kind: checkpoints.CreatePartition, Offset: 9, Partition: 102, Name: "p"}),
		event(checkpoints.Event{Kind: checkpoints.AlterCollection, Offset: 10, Schema: []byte("v2")}),
		event(checkpoints.Event{Kind: checkpoints.DropPartition, Offset: 11, Partition: partition}),
		event(checkpoints.Event{Kind: checkpoints.DropCollection, Offset: 12}))
	if after := asJSON(snapshot); after != before {
		t.Errorf("snapshot\n%s\nbecame\n%s", before, after)
	}
}

func TestDDLChangesTheDocumentInLogOrderOnly(t *testing.T) {
	d, _ := fresh(t)
	create := event(checkpoints.Event{Kind: checkpoints.CreateCollection, Offset: 3, Name: "c", Schema: []byte("v1"),
		Partitions: map[int64]string{partition: "_default", 102: ""}})
	alter := event(checkpoints.Event{Kind: checkpoints.AlterCollection, Offset: 6, Schema: []byte("v2")})
	apply(t, d, create, alter)
	c := d.Collections[collection]
	if c.Name != "c" || string(c.Schema) != "v2" || c.SchemaOffset != 6 || c.LastDDL != 6 ||
		c.Partitions[partition].Name != "_default" || c.Partitions[102] == nil {
		t.Fatalf("collection %s", asJSON(c))
	}
	before := asJSON(d)
	apply(t, d, create, alter) // replay
	if after := asJSON(d); after != before {
		t.Errorf("%s became %s", before, after)
	}
	if len(d.Events) != 2 {
		t.Errorf("events %s", asJSON(d.Events))
	}
}

func TestADropKeepsRowsAndTakesNamesAlong(t *testing.T) {
	d, l := fresh(t)
	named := l.last(segment(1, 1, 5), 2)
	named.Flush.PartitionName = "seen in an insert"
	other := segment(2, 5, 6)
	other.Partition = 102
	met := moved(6, nil)
	met.New = []checkpoints.Segment{segment(3, 5, 0)}
	apply(t, d, event(checkpoints.Event{Kind: checkpoints.CreateCollection, Offset: 0, Name: "c", Schema: []byte("v1")}),
		named, l.rows(other, 1), met,
		event(checkpoints.Event{Kind: checkpoints.DropPartition, Offset: 7, Partition: partition}))
	if s := d.Segments[1]; s.State != checkpoints.Dropped || s.Rows != 2 || len(s.Logs) != 1 {
		t.Errorf("segment dropped: %s", asJSON(s))
	}
	if d.Segments[2].State != checkpoints.Normal || d.Segments[3].State != checkpoints.Dropped {
		t.Errorf("segments %s", asJSON(d.Segments))
	}
	p := d.Collections[collection].Partitions[partition]
	if p.Dropped == nil || p.Dropped.Offset != 7 || p.Dropped.Timestamp != 7<<18 {
		t.Errorf("partition %s", asJSON(p))
	}
	if e := d.Events[1]; e.Name != "seen in an insert" {
		t.Errorf("event %s", asJSON(e))
	}
	late := moved(8, nil) // late rows do not bring the segment back as New
	late.New = []checkpoints.Segment{segment(3, 7, 0), segment(4, 7, 0)}
	apply(t, d, late)
	if d.Segments[3].State != checkpoints.Dropped || d.Segments[4] != nil {
		t.Error("a dropped segment came back")
	}
	apply(t, d, event(checkpoints.Event{Kind: checkpoints.DropCollection, Offset: 9}))
	if e := d.Events[2]; e.Name != "c" || e.Schema != nil || e.Partitions[102] != "_default" {
		t.Errorf("event %s", asJSON(e))
	}
	if d.Segments[2].State != checkpoints.Dropped {
		t.Errorf("segment 2 is %s", asJSON(d.Segments[2]))
	}
}

func TestTheSecondCopyOfADropDoesNotMoveIt(t *testing.T) {
	d, _ := fresh(t)
	apply(t, d, event(checkpoints.Event{Kind: checkpoints.CreateCollection, Offset: 1}),
		event(checkpoints.Event{Kind: checkpoints.DropCollection, Offset: 4}),
		event(checkpoints.Event{Kind: checkpoints.DropCollection, Offset: 6}),
		event(checkpoints.Event{Kind: checkpoints.CreateCollection, Offset: 8}))
	c := d.Collections[collection]
	if c.Dropped.Offset != 4 || c.LastDDL != 8 || len(d.Events) != 2 {
		t.Errorf("collection %s, events %s", asJSON(c), asJSON(d.Events))
	}
}

func TestASchemaFromAFileIsKeptByTheDrop(t *testing.T) {
	d, l := fresh(t)
	apply(t, d, l.rows(segment(1, 0, 3), 1))
	c := *d.Collections[collection]
	c.Schema = []byte("given")
	d.Collections[collection] = &c
	apply(t, d, event(checkpoints.Event{Kind: checkpoints.DropCollection, Offset: 5}))
	if e := d.Events[0]; string(e.Schema) != "given" {
		t.Errorf("event %s", asJSON(e))
	}
}

func TestObjectsOfAFlush(t *testing.T) {
	s := segment(7, 0, 1)
	want := []string{"insert_log/100/101/7/0/x", "insert_log/100/101/7/1/x", "insert_log/100/101/7/100/x", "stats_log/100/101/7/100/x"}
	if got := s.DataKeys("x"); !slices.Equal(got, want) {
		t.Errorf("keys %v", got)
	}
	del := deletes(8, 0, 1)
	if got := del.DataKeys("x"); !slices.Equal(got, []string{"delta_log/100/101/8/x"}) {
		t.Errorf("keys %v", got)
	}
	for got, want := range map[string]string{
		checkpoints.EventKey("v-0", "T", 12):      "ddl/v-0/T/00000000000000000012.json",
		checkpoints.QuarantineKey("v-0", "T", 12): "quarantine/v-0/T/00000000000000000012.json",
		checkpoints.ChunkKey(1, 2, 3, "100"):      "segments/1/2/3.100.json",
		checkpoints.ManifestKey(1, -1, 3):         "segments/1/-1/3.json",
	} {
		if got != want {
			t.Errorf("key %s, want %s", got, want)
		}
	}
}
