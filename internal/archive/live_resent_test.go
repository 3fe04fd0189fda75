package archive_test

import (
	"slices"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
)

// cutBack lets a vchannel's log lose its end at an offset, which is a time too.
func (b *made) cutBack(vchannel string, at int64) {
	d := b.docs[vchannel]
	d.Reached = d.Seek
	d.CutBack(checkpoints.Position{Offset: at}, 0, nil)
	d.Version = checkpoints.Version + 1
	d.Seek = checkpoints.Position{Offset: 1000, Tick: 1000}
}

// What a producer sends once more after its log was cut back is one write,
// whether a flush holds nothing else or other rows too; a row of the lost end
// that nobody sends again is still a write.
func TestARowThatIsSentOnceMoreAfterACutCountsTwice(t *testing.T) {
	for _, again := range [][]madeRow{{{2, 32, 2}}, {{2, 32, 2}, {4, 40, 4}}, {{2, 41, 5}}} {
		b := newMade(t, "a")
		b.created("a", 1, 10, "c")
		b.segment("a", checkpoints.L1, 1, 10, 20, []madeRow{{1, 20, 1}, {2, 20, 2}})
		b.segment("a", checkpoints.L1, 1, 10, 32, []madeRow{{2, 32, 2}, {3, 33, 3}})
		b.cutBack("a", 31)
		b.segment("a", checkpoints.L1, 1, 10, 35, again)
		l := live(t, b.open(), archive.LiveOptions{Collection: "c", Until: 1000})
		want := []int64{1, 2, 2, 3}
		for _, r := range again {
			if r.id != 2 {
				want = append(want, r.key)
			}
		}
		if got := keysOf(t, l); !slices.Equal(got, want) {
			t.Errorf("after %v was sent again keys %v are live, want %v", again, got, want)
		}
	}
}

// The log does not tell of a drop in an end that it has lost: rows that it has
// now would be nobody's.
func TestADropThatTheLogHasLostStillDrops(t *testing.T) {
	b := newMade(t, "a", "b")
	for _, v := range []string{"a", "b"} {
		b.created(v, 1, 10, "c")
		b.created(v, 2, 20, "d")
	}
	b.event("a", checkpoints.Event{Kind: checkpoints.DropCollection, Timestamp: 60, Collection: 1})
	for _, v := range []string{"a", "b"} {
		b.event(v, checkpoints.Event{Kind: checkpoints.DropCollection, Timestamp: 61, Collection: 2})
	}
	b.cutBack("a", 50)
	a := b.open()
	lives, err := a.CollectionLives(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range lives {
		if c.ID == 1 && c.Dropped != 0 || c.ID == 2 && c.Dropped != 61 {
			t.Errorf("collection %d was dropped at %d", c.ID, c.Dropped)
		}
	}
}
