package stages_test

import (
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/stages"
	"flowgraph/stages/column"
)

// A segment whose first flushes have no key statistics would be listed with
// statistics that are not there, if later ones had them.
func TestTheFirstFlushDecidesAboutKeyStatistics(t *testing.T) {
	doc := &checkpoints.Document{
		Collections: map[int64]*checkpoints.Collection{1: {Schema: marshal(schemaOf(0)), Partitions: map[int64]*checkpoints.Partition{}}},
		Segments:    map[int64]*checkpoints.Segment{},
	}
	for id, s := range map[int64]checkpoints.Segment{
		7: {State: checkpoints.New},
		8: {State: checkpoints.Normal, Rows: 5, Fields: []int64{0, 1, 100, 101}},
		9: {State: checkpoints.Normal, Rows: 5, Fields: []int64{0, 1, 100, 101}, PKField: 100},
	} {
		s.ID, s.Collection, s.Partition, s.Level = id, 1, 2, checkpoints.L1
		doc.Segments[id] = &s
	}
	names, err := checkpoints.NewNames(v0, 1)
	if err != nil {
		t.Fatal(err)
	}
	buffer, err := stages.NewBuffer(doc, stages.BufferConfig{Limits: quiet(), Names: names, Pool: &column.Pool{}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[int64][]int64{}
	decoder := stages.NewDecoder(checkpoints.Position{LeaderEpoch: -1})
	for life := range int64(2) {
		raw := &stages.Raw{Signal: stages.Drain}
		for i, seg := range []int64{7, 8, 9, 10} {
			r := rec{op: insertOp, coll: 1, part: 2, seg: seg, rows: []int64{10*life + int64(i)}, ts: 1}
			r.off = 4*life + int64(i)
			raw.Records = append(raw.Records, r.record())
		}
		packs, err := decoder.Step(t.Context(), raw)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range packs {
			cuts, err := buffer.Step(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range cuts {
				if f := c.Change.Flush; f != nil {
					got[f.Segment.ID] = append(got[f.Segment.ID], f.Segment.PKField)
				}
			}
		}
	}
	for id, want := range map[int64]int64{7: 100, 8: 0, 9: 100, 10: 100} {
		if len(got[id]) != 2 || got[id][0] != want || got[id][1] != want {
			t.Errorf("segment %d: key fields %v, want %d", id, got[id], want)
		}
	}
}
