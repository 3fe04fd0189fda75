package archive_test

import (
	"slices"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
)

func TestCollectionsOfOneNameAreToldApartByTheirLives(t *testing.T) {
	b := newMade(t, "a")
	b.created("a", 1, 10, "c")
	b.event("a", checkpoints.Event{Kind: checkpoints.DropCollection, Timestamp: 30, Collection: 1, Name: "c"})
	b.created("a", 2, 40, "c")
	b.created("a", 3, 20, "b")
	a := b.open()
	got, err := a.CollectionLives(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	complete := live(t, a, archive.LiveOptions{Collection: "b"}).Complete
	want := []archive.CollectionLife{
		{ID: 3, Name: "b", Created: 20, Last: complete}, {ID: 1, Name: "c", Created: 10, Dropped: 30, Last: min(29, complete)},
		{ID: 2, Name: "c", Created: 40, Last: complete},
	}
	if !slices.EqualFunc(got, want, func(x, y archive.CollectionLife) bool {
		return x.ID == y.ID && x.Name == y.Name && x.Created == y.Created && x.Dropped == y.Dropped && x.Last == y.Last && len(x.VChannels) == 1
	}) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
