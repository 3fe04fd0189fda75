package restore

import (
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
)

func TestNoImportTakesMoreSegmentsThanMilvusDoes(t *testing.T) {
	part := &archive.LivePartition{ID: 1, Name: "p"}
	for i := range 2*maxSegments + 1 {
		part.Segments = append(part.Segments, &archive.LiveSegment{Segment: &archive.Segment{Segment: checkpoints.Segment{ID: int64(i)}}})
	}
	var p Plan
	p.add(part, 0)
	seen := map[int64]bool{}
	for _, b := range p.batches {
		if len(b.segments) > maxSegments || b.partition != "p" {
			t.Errorf("an import of %d segments into %s", len(b.segments), b.partition)
		}
		for _, s := range b.segments {
			seen[s.ID] = true
		}
	}
	if len(seen) != len(part.Segments) || len(p.batches) != 3 {
		t.Errorf("%d of %d segments in %d imports", len(seen), len(part.Segments), len(p.batches))
	}
}
