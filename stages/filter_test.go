package stages_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/stages"
)

func pos(offset int64) checkpoints.Position { return checkpoints.Position{Offset: offset} }

// stored is a document with a segment in every state, seen from position 2.
func stored() *checkpoints.Document {
	segment := func(id, part int64, state checkpoints.State, end int64) *checkpoints.Segment {
		return &checkpoints.Segment{ID: id, Collection: 1, Partition: part, Level: checkpoints.L1, State: state, End: pos(end)}
	}
	return &checkpoints.Document{
		ReadFrom: pos(0), Seek: pos(2),
		Segments: map[int64]*checkpoints.Segment{
			1: segment(1, 11, checkpoints.New, 0), 2: segment(2, 11, checkpoints.Normal, 10), 3: segment(3, 11, checkpoints.Flushed, 10),
		},
		Collections: map[int64]*checkpoints.Collection{
			1: {LastDDL: 1, Partitions: map[int64]*checkpoints.Partition{
				11: {AutoEnd: 20, AutoEndDelete: 30}, -1: {AutoEndDelete: 15}, 12: {Dropped: &checkpoints.Drop{Offset: 8}},
			}},
			2: {LastDDL: 9, Dropped: &checkpoints.Drop{Offset: 9}, Partitions: map[int64]*checkpoints.Partition{}},
		},
	}
}

// filtered sends one record through decoder and filter.
func filtered(t *testing.T, f *stages.Filter, r rec) (*stages.Pack, error) {
	t.Helper()
	if len(r.rows) == 0 {
		r.rows = []int64{1, 2}
	}
	packs, err := f.Step(context.Background(), decode(t, stages.NewDecoder(checkpoints.Position{}), r.record()))
	if err != nil {
		return nil, err
	}
	return packs[0], nil
}

// The boundary decides: below an End a row is persisted, at it it is not.
func TestWhereARowGoes(t *testing.T) {
	in := func(seg, part int64) rec { return rec{op: insertOp, coll: 1, part: part, seg: seg} }
	del := func(part int64) rec { return rec{op: deleteOp, coll: 1, part: part} }
	for _, c := range []struct {
		r    rec
		want string
	}{
		{in(1, 11).at(2), "assigned"},
		{in(1, 11).at(1), "persisted"}, // below the seek position
		{in(2, 11).at(9), "persisted"},
		{in(2, 11).at(10), "assigned"},
		{in(3, 11).at(9), "persisted"},
		{in(3, 11).at(10), "persisted"}, // rerouted, below the AutoEnd
		{in(3, 11).at(20), "rerouted"},
		{in(0, 11).at(19), "persisted"},
		{in(0, 11).at(20), "auto"},
		{in(0, 13).at(2), "auto"}, // nothing is known of its partition
		{in(4, 11).at(2), "assigned"},
		{in(7, 11).at(9), "persisted"}, // 7 has left the document with End 10
		{in(7, 11).at(15), "persisted"},
		{in(7, 11).at(25), "rerouted"},
		{in(8, 11).at(3), "persisted"}, // 8 is of another log
		{in(8, 11).at(21), "rerouted"},
		{in(2, 13).at(12), "bad: segment 2 belongs to collection 1, partition 11, not to collection 1, partition 13"},
		{in(2, 13).at(1), "persisted"}, // in quarantine
		{in(9, 12).at(7), "persisted"}, // before the drop: its cuts persisted it
		{in(9, 12).at(8), "dropped"},
		{rec{op: insertOp, coll: 2, part: 21, seg: 9}.at(8), "persisted"},
		{rec{op: insertOp, coll: 2, part: 21}.at(9), "dropped"},
		{del(11).at(29), "persisted"},
		{del(11).at(30), "auto"},
		{del(-1).at(14), "persisted"},
		{del(-1).at(15), "auto"},
		{del(12).at(8), "dropped"},
		{rec{op: deleteOp, coll: 2, part: -1}.at(9), "dropped"},
		{rec{op: badOp}.at(1), "persisted"},
		{rec{op: badOp}.at(2), "bad: empty"},
	} {
		f := stages.NewFilter(stored(), func(_ context.Context, refs []checkpoints.SegmentRef) (map[int64]checkpoints.Known, error) {
			return map[int64]checkpoints.Known{
				7: {State: checkpoints.Flushed, End: pos(10)}, 8: {State: checkpoints.Flushed}, 4: {}, 9: {},
			}, nil
		})
		p, err := filtered(t, f, c.r)
		if err != nil {
			t.Fatal(err)
		}
		n := p.Counts
		if got := outcome(p); !strings.HasPrefix(got, c.want) {
			t.Errorf("%v: %s, want %s", c.r, got, c.want)
		} else if counted := map[string]int64{"persisted": n.Filtered, "dropped": n.AfterDrop}[got]; len(p.Messages) == 0 && counted != 2 && c.r.op != badOp && c.r.part != 13 {
			t.Errorf("%v: counts %+v", c.r, n)
		}
	}
}

func outcome(p *stages.Pack) string {
	switch {
	case len(p.Messages) == 0 && p.Counts.AfterDrop > 0:
		return "dropped"
	case len(p.Messages) == 0:
		return "persisted"
	case p.Messages[0].Bad != "":
		return "bad: " + p.Messages[0].Bad
	}
	return map[stages.Route]string{stages.Assigned: "assigned", stages.Auto: "auto", stages.Rerouted: "rerouted"}[p.Messages[0].Route]
}

// One question per segment and pack: not one per message, and none for what
// is known or has no place any more.
func TestSegmentsAreLookedUpOnce(t *testing.T) {
	var asked [][]int64
	f := stages.NewFilter(stored(), func(_ context.Context, refs []checkpoints.SegmentRef) (map[int64]checkpoints.Known, error) {
		var ids []int64
		for _, r := range refs {
			ids = append(ids, r.Segment)
		}
		asked = append(asked, ids)
		return map[int64]checkpoints.Known{}, nil
	})
	d := stages.NewDecoder(checkpoints.Position{})
	dead := row(9)
	dead.part = 12
	for _, log := range [][]rec{
		{row(4), row(5), row(4), row(2), auto(), remove(11), dead},
		{row(4).at(20), row(6).at(21)},
		{row(6).at(30), drop().at(31)},
		{row(99).at(40)}, // after the drop
	} {
		var records []stages.Record
		for _, r := range number(log) {
			records = append(records, r.record())
		}
		parts, _ := stages.Splitter{}.Step(context.Background(), decode(t, d, records...))
		for _, p := range parts {
			if _, err := f.Step(context.Background(), p); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := fmt.Sprint(asked); got != "[[4 5] [6]]" {
		t.Errorf("asked for %s", got)
	}
}

// No answer is never taken for "unknown": the segment would be written again.
func TestWithoutAnAnswerNothingGoesOn(t *testing.T) {
	down := errors.New("the store is down")
	f := stages.NewFilter(stored(), func(context.Context, []checkpoints.SegmentRef) (map[int64]checkpoints.Known, error) {
		return nil, down
	})
	if _, err := filtered(t, f, row(77)); !errors.Is(err, down) {
		t.Errorf("error %v", err)
	}
}

// What an event brings holds from its place in the log on.
func TestADropCountsFromItsPlaceOn(t *testing.T) {
	f := stages.NewFilter(stored(), func(context.Context, []checkpoints.SegmentRef) (map[int64]checkpoints.Known, error) {
		return map[int64]checkpoints.Known{}, nil
	})
	third := row(5)
	third.part = 13
	var got []string
	for i, r := range number([]rec{third.at(40), drop(), rec{op: dropOp, coll: 1, part: 13}, third, {op: dropAllOp, coll: 1}, remove(-1), {op: dropAllOp, coll: 1}, remove(-1)}) {
		if r.op == insertOp || r.op == deleteOp {
			p, err := filtered(t, f, r)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, outcome(p))
			continue
		}
		parts, _ := stages.Splitter{}.Step(context.Background(), decode(t, stages.NewDecoder(checkpoints.Position{}), r.record()))
		if _, err := f.Step(context.Background(), parts[0]); err != nil {
			t.Fatal(i, err)
		}
	}
	if want := []string{"assigned", "dropped", "dropped", "dropped"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
