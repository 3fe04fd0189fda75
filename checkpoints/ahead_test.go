package checkpoints_test

import (
	"strings"
	"testing"

	"flowgraph/checkpoints"
)

// Each kind of manifest that a document cannot have seen, alone, beside the
// one next to it that it has.
func TestAManifestThatADocumentCannotHaveSeenIsTakenForSeen(t *testing.T) {
	open := segment(7, 10, 40)
	d := &checkpoints.Document{
		Epoch: 3, Seek: at(50), Reached: at(100),
		Collections: map[int64]*checkpoints.Collection{collection: {LastDDL: 60, Partitions: map[int64]*checkpoints.Partition{
			partition: {AutoEnd: 80, AutoEndDelete: 90}}}},
		Segments: map[int64]*checkpoints.Segment{7: &open},
	}
	d.Segments[7].State = checkpoints.Normal
	in := func(s checkpoints.Segment, edits ...func(*checkpoints.Segment)) checkpoints.Segment {
		for _, edit := range edits {
			edit(&s)
		}
		return s
	}
	logs := func(id string) func(*checkpoints.Segment) {
		return func(s *checkpoints.Segment) { s.Logs = []checkpoints.Log{{ID: id, Rows: 1}} }
	}
	chunks := func(id string) func(*checkpoints.Segment) {
		return func(s *checkpoints.Segment) { s.Chunks = []string{id} }
	}
	for name, c := range map[string]struct {
		seen, unseen checkpoints.Segment
		why          string
	}{
		"segments without an ID":    {auto(8, 20, 80), auto(8, 20, 81), "its auto end is 80"},
		"deletes":                   {deletes(8, 20, 90), deletes(8, 20, 91), "its auto end is 90"},
		"segments of Milvus":        {segment(8, 60, 100), segment(8, 60, 101), "it has reached 100"},
		"what it persisted in part": {segment(8, 49, 101), segment(8, 50, 101), "it has reached 100"},
		"what it holds open":        {segment(8, 10, 40), segment(7, 10, 40), "is open in it"},
		"places":                    {segment(8, 1, 2), in(segment(8, 1, 2), func(s *checkpoints.Segment) { s.Partition++ }), "knows nothing of"},
		"collections":               {segment(8, 1, 2), in(segment(8, 1, 2), func(s *checkpoints.Segment) { s.Collection++ }), "knows nothing of"},
		"files of a later claim":    {in(segment(8, 1, 2), logs("100000030000000001")), in(segment(8, 1, 2), logs("100000040000000001")), "of epoch 4"},
		"folded ones of such":       {in(segment(8, 1, 2), chunks("100000030000000001")), in(segment(8, 1, 2), chunks("100000040000000001")), "of epoch 4"},
		"a log that was cut later":  {segment(8, 1, 2), in(segment(8, 1, 2), func(s *checkpoints.Segment) { s.Generation++ }), "cut back"},
	} {
		if why := d.Ahead(c.seen.Sealed()); why != "" {
			t.Errorf("%s: %s", name, why)
		}
		if why := d.Ahead(c.unseen.Sealed()); !strings.Contains(why, c.why) {
			t.Errorf("%s: %q does not say %q", name, why, c.why)
		}
	}
	for offset, unseen := range map[int64]bool{60: false, 61: true} {
		if why := d.AheadOfEvent(&checkpoints.Event{Collection: collection, Offset: offset}); (why != "") != unseen {
			t.Errorf("a DDL event at %d: %q", offset, why)
		}
	}
	if d.AheadOfEvent(&checkpoints.Event{Collection: collection + 1}) == "" {
		t.Error("an event of a collection that it does not know")
	}
	// What an acceptance raised the epoch to was never seen.
	d.Unsettled, d.Epoch = 3, 40
	s := in(segment(8, 1, 2), logs("100000040000000001"))
	if d.Ahead(s.Sealed()) == "" {
		t.Error("an acceptance forgets of which epoch the document is")
	}
}
