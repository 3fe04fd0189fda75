package stages_test

import (
	"fmt"
	"slices"
	"testing"

	"flowgraph/stages"
)

// The memory of a batch is used again once its pack was placed. A member that
// still stood there at its commit would be empty, or another message.
func TestMembersOfATransactionOutliveTheirBatches(t *testing.T) {
	l := newLine(t, quiet())
	at := func(offset int64, r rec) stages.Record {
		out := r.record()
		out.Offset = offset
		return out
	}
	member := func(offset int64, kind string, value []byte) stages.Record {
		return walRecord(offset, value, "_v", "1", "_t", kind, "_tt", "zzzz", "_vc", "dml_0_1v0", "_tx", base64Of(numbersOf(3, -1000)))
	}
	const ts = 35*(36*36*36+36*36+36) + 35 // zzzz
	l.poll(at(0, create(1)))
	l.poll(at(1, rec{op: beginOp, ts: ts, txn: 3}), at(2, rec{op: memberOp, coll: 1, part: 11, seg: 5, rows: []int64{1, 2}, ts: ts, txn: 3}))
	l.poll(member(3, "3", marshal(deleteOf(rec{coll: 1, part: 12, rows: []int64{9}, ts: ts}))), member(4, "2", []byte{0xff}))
	other := rec{op: memberOp, coll: 1, part: 13, seg: 6, rows: []int64{7}, ts: ts}
	l.poll(at(5, other), at(6, other), member(7, "2", []byte{0xff})) // in the memory of both
	cuts := append(l.poll(at(8, rec{op: commitOp, ts: ts, txn: 3})), l.send(&stages.Raw{Signal: stages.Drain})...)
	var got []string
	for _, c := range cuts {
		if f := c.Change.Flush; f != nil && f.Log != nil {
			got = append(got, fmt.Sprintf("%d of level %d in %d", f.Log.Rows, f.Segment.Level, f.Segment.Partition))
		}
		for i := range c.Bad {
			got = append(got, fmt.Sprintf("bad at %d with %d headers", c.Bad[i].Record.Offset, len(c.Bad[i].Record.Headers)))
			if h := c.Bad[i].Record.Headers; len(h) == 0 || h[0].Key != "_v" {
				t.Errorf("the headers of the bad record are %v", h)
			}
		}
	}
	slices.Sort(got)
	want := []string{"1 of level 1 in 12", "2 of level 2 in 11", "2 of level 2 in 13", "bad at 4 with 5 headers", "bad at 7 with 5 headers"}
	if l.err != nil || !slices.Equal(got, want) {
		t.Errorf("%v: %q, want %q", l.err, got, want)
	}
}
