package archive_test

import (
	"slices"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
)

// A key that is inserted, deleted and inserted again is there at the end,
// whether its rows lie in one flush or in two.
func TestAKeyInsertedAgainAfterItsDeleteIsGone(t *testing.T) {
	for _, flushes := range [][][]madeRow{
		{{{1, 20, 1}, {1, 40, 2}}},
		{{{1, 20, 1}}, {{1, 40, 2}}},
	} {
		b := newMade(t, "a")
		b.created("a", 1, 10, "c")
		for i, rows := range flushes {
			b.segment("a", checkpoints.L1, 1, 10, int64(20+i), rows)
		}
		b.segment("a", checkpoints.L0, 1, 10, 30, []madeRow{{key: 1, ts: 30}})
		a := b.open()
		for moment, want := range map[uint64][]int64{25: {1}, 30: nil, 39: nil, 40: {1}} {
			if got := keysOf(t, live(t, a, archive.LiveOptions{Collection: "c", Until: moment})); !slices.Equal(got, want) {
				t.Errorf("%d flushes, at %d: keys %v are live, want %v", len(flushes), moment, got, want)
			}
		}
	}
}

// Deletes do not come in the order of their times: one that is older than what
// was read before it, or as old, counts all the same, and the latest of a key
// holds.
func TestADeleteOlderThanTheOneBeforeItIsSkipped(t *testing.T) {
	b := newMade(t, "a")
	b.created("a", 1, 10, "c")
	b.segment("a", checkpoints.L1, 1, 10, 20, []madeRow{{1, 20, 1}, {2, 20, 2}, {3, 20, 3}, {4, 60, 4}, {5, 20, 5}})
	b.segment("a", checkpoints.L0, 1, 10, 30, []madeRow{{key: 4, ts: 90}, {key: 1, ts: 50}, {key: 2, ts: 30}, {key: 3, ts: 50}})
	b.segment("a", checkpoints.L0, 1, 10, 31, []madeRow{{key: 4, ts: 40}, {key: 5, ts: 25}, {key: 1, ts: 25}})
	a := b.open()
	for moment, want := range map[uint64][]int64{24: {1, 2, 3, 5}, 25: {2, 3}, 30: {3}, 50: nil, 60: {4}, 89: {4}, 90: nil} {
		if got := keysOf(t, live(t, a, archive.LiveOptions{Collection: "c", Until: moment})); !slices.Equal(got, want) {
			t.Errorf("at %d keys %v are live, want %v", moment, got, want)
		}
	}
}
