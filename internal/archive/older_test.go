package archive_test

import (
	"slices"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
)

// What a source told of a collection is no creation: who restores it must
// learn that rows are missing, also if only one of its logs begins later.
func TestACollectionOlderThanOneOfItsLogsIsNeverWhole(t *testing.T) {
	b := newMade(t, "a", "b")
	b.created("a", 1, 10, "c")
	b.event("b", checkpoints.Event{
		Kind: checkpoints.CreateCollection, Given: true, Timestamp: 17, Collection: 1, Name: "c",
		Partitions: map[int64]string{10: "_default", 12: "empty"}, Schema: madeSchema(t, "c"),
	})
	b.segment("b", checkpoints.L1, 1, 10, 20, []madeRow{{1, 20, 1}})
	a := b.open()
	lives, err := a.CollectionLives(t.Context())
	if err != nil || len(lives) != 1 {
		t.Fatal(lives, err)
	}
	if c := lives[0]; c.Since != 17 || c.Created == 0 || c.Created == 17 {
		t.Errorf("%+v", c)
	}
	l := live(t, a, archive.LiveOptions{Collection: "c"})
	if got := keysOf(t, l); l.Since != 17 || !slices.Equal(got, []int64{1}) {
		t.Errorf("since %d, keys %v", l.Since, got)
	}
	if !slices.ContainsFunc(l.Partitions, func(p *archive.LivePartition) bool { return p.Name == "empty" }) {
		t.Error("the partition that only the source named is not there")
	}
}
