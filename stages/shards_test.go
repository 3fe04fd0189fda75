package stages_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/checkpoints"
	"flowgraph/stages"
)

// Several shards of a collection may share one log, and a recording is
// replayed under other names: whose shard a message is of decides nothing but
// which messages repeat each other. Each shard has its own copy of every DDL.
func TestMessagesOfEveryShardAreTaken(t *testing.T) {
	l := newLine(t, quiet())
	l.poll(create(1).record())
	var records []stages.Record
	for i, shard := range []string{"dml_0_1v0", "dml_0_1v1", "elsewhere_7_1v0", "", "dml_0_1v0"} {
		m := insertOf(rec{coll: 1, part: 11, seg: 5, rows: []int64{int64(i)}, msg: 77, ts: 1 << 40})
		m.ShardName = shard
		records = append(records, stages.Record{Offset: int64(1 + i), Value: marshal(m)})
	}
	again := create(1).record()
	again.Offset = 6
	old := deleteOf(rec{coll: 1, part: -1, rows: []int64{1, 2}, msg: 77, ts: 1 << 40})
	old.PrimaryKeys, old.Int64PrimaryKeys, old.ShardName = nil, []int64{1, 2}, "dml_0_1v1"
	both := deleteOf(rec{coll: 1, part: 11, rows: []int64{3}, msg: 78, ts: 1 << 40})
	both.Int64PrimaryKeys = []int64{99} // primary_keys counts where both are
	texts := deleteOf(rec{coll: 1, part: 11, rows: []int64{3}, msg: 79, ts: 1 << 40})
	texts.PrimaryKeys = &schemapb.IDs{IdField: &schemapb.IDs_StrId{StrId: &schemapb.StringArray{Data: []string{"a"}}}}
	records = append(records, again, stages.Record{Offset: 7, Value: marshal(old)}, stages.Record{Offset: 8, Value: marshal(both)},
		stages.Record{Offset: 9, Value: marshal(texts)})
	for i := range 2 {
		r := rec{op: dropAllOp, coll: 1}.record()
		r.Offset = int64(10 + i)
		records = append(records, r)
	}
	var got []string
	var n stages.Counts
	cuts := append(l.poll(records...), l.send(&stages.Raw{Signal: stages.Drain})...)
	for _, c := range cuts {
		if f := c.Change.Flush; f != nil && f.Log != nil {
			got = append(got, fmt.Sprintf("%d of level %d in %d", f.Log.Rows, f.Segment.Level, f.Segment.Partition))
		}
		if e := c.Change.Event; e != nil {
			got = append(got, string(e.Kind))
		}
		if err := l.doc.Apply(c.Change); err != nil {
			t.Fatal(err)
		}
		n.Repeated, n.Bad = n.Repeated+c.Counts.Repeated, n.Bad+c.Counts.Bad
	}
	slices.Sort(got)
	want := []string{"1 of level 1 in 11", "2 of level 1 in -1", "4 of level 2 in 11", "drop_collection", "drop_collection"}
	if l.err != nil || !slices.Equal(got, want) || n.Repeated != 1 || n.Bad != 1 {
		t.Errorf("%v: %q, %d repeats, %d bad", l.err, got, n.Repeated, n.Bad)
	}
	if name := l.doc.Collections[1].Channel; name != "dml_0_1v0" {
		t.Errorf("the shard's name is %q, not that of the first message", name)
	}
	if d := l.doc.Collections[1].Dropped; d == nil || d.Offset != 10 || l.doc.Seek.Offset != 12 {
		t.Errorf("dropped %+v, the position is %d", d, l.doc.Seek.Offset)
	}
	for _, e := range l.doc.Events {
		if e.Kind == checkpoints.DropCollection && e.Offset != 10 {
			t.Errorf("the drop at %d is an event of its own", e.Offset)
		}
	}
}
