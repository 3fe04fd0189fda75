package sinks

import (
	"strings"
	"testing"

	"flowgraph/checkpoints"
)

// A life may keep a bad record and end before it tells: if the log loses that
// and has another bad one at its offset, that one must be kept. What the same or
// a later life kept stays.
func TestABadRecordAtTheOffsetOfALostOneIsKept(t *testing.T) {
	for epoch, want := range map[int64]string{0: "/w==", 1: "b2xk", 2: "b2xk"} {
		b := newBasin(t, 2)
		key := checkpoints.QuarantineKey("t-0", "id", 42)
		old := checkpoints.Object{Meta: checkpoints.Meta("t-0", epoch), Parts: [][]byte{[]byte(
			`{"topic":"t","partition":0,"offset":42,"timestamp":900,"key":null,"value":"b2xk","headers":[],"reason":"old"}`)}}
		if _, err := b.bucket.Put(t.Context(), key, old, checkpoints.Condition{}); err != nil {
			t.Fatal(err)
		}
		b.In() <- bad(1)
		if acked, cause := b.end(); len(acked) != 1 || cause != nil {
			t.Errorf("acknowledged: %v, cause %v", acked, cause)
		}
		if data := string(b.bucket.Data(key)); !strings.Contains(data, want) {
			t.Errorf("of one that was kept in epoch %d there is now %s", epoch, data)
		}
	}
}
