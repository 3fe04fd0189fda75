package archive_test

import (
	"slices"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
)

func TestOnlyWhatTheBucketKnowsIsSaidToHoldASeekPositionBack(t *testing.T) {
	at := func(offset int64) checkpoints.Position { return checkpoints.Position{Offset: offset} }
	v := &archive.VChannel{Doc: &checkpoints.Document{Seek: at(50), Segments: map[int64]*checkpoints.Segment{
		1: {ID: 1, State: checkpoints.New, Start: at(50)},
		2: {ID: 2, State: checkpoints.New, Start: at(60)},
		3: {ID: 3, State: checkpoints.Normal, Start: at(1), End: at(50)},
		4: {ID: 4, State: checkpoints.Normal, Start: at(1), End: at(51)}, // its row at 50 is persisted
		5: {ID: 5, State: checkpoints.Flushed, Start: at(1), End: at(20)},
		6: {ID: 6, State: checkpoints.Normal, Start: at(1), End: at(10)},
	}}}
	ids := func(list []*checkpoints.Segment) (out []int64) {
		for _, s := range list {
			out = append(out, s.ID)
		}
		return out
	}
	h := v.Holders()
	if !slices.Equal(ids(h.Certain), []int64{1}) || !slices.Equal(ids(h.Possible), []int64{3, 6}) {
		t.Errorf("certain %v, possible %v", ids(h.Certain), ids(h.Possible))
	}
}
