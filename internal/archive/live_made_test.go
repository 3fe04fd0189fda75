package archive_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
)

// created makes a collection with a partition of ten times its ID.
func (b *made) created(vchannel string, id int64, ts uint64, name string) {
	b.event(vchannel, checkpoints.Event{
		Kind: checkpoints.CreateCollection, Timestamp: ts, Collection: id, Name: name,
		Partitions: map[int64]string{id * 10: "_default"}, Schema: madeSchema(b.t, name),
	})
}

func live(t *testing.T, a *archive.Archive, o archive.LiveOptions) *archive.Live {
	t.Helper()
	l, err := a.Live(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestRowsOlderThanAFieldHaveItsDefaultOrNull(t *testing.T) {
	b := newMade(t, "a")
	b.created("a", 1, 10, "c")
	b.segment("a", checkpoints.L1, 1, 10, 20, []madeRow{{key: 1, ts: 20, id: 1}})
	b.event("a", checkpoints.Event{Kind: checkpoints.AlterCollection, Timestamp: 30, Collection: 1, Schema: madeSchema(t, "c",
		&schemapb.FieldSchema{FieldID: 101, Name: "n", DataType: schemapb.DataType_Int32, Nullable: true,
			DefaultValue: &schemapb.ValueField{Data: &schemapb.ValueField_IntData{IntData: 7}}},
		&schemapb.FieldSchema{FieldID: 102, Name: "m", DataType: schemapb.DataType_Int32, Nullable: true})})
	b.segment("a", checkpoints.L1, 1, 10, 40, []madeRow{{key: 2, ts: 40, id: 2}}, 101, 102)
	a := b.open()

	l := live(t, a, archive.LiveOptions{Collection: "c"})
	var got [][]byte
	for r, err := range l.Rows(t.Context(), l.Partitions[0], nil) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, bytes.Clone(r.Values[3]), bytes.Clone(r.Values[4]))
	}
	want := [][]byte{{7, 0, 0, 0}, nil, {5, 0, 0, 0}, {5, 0, 0, 0}}
	if !slices.EqualFunc(got, want, bytes.Equal) || got[1] != nil {
		t.Errorf("fields %v, want %v", got, want)
	}
	if l = live(t, a, archive.LiveOptions{Collection: "c", Until: 29}); len(l.Fields) != 3 || len(keysOf(t, l)) != 1 {
		t.Errorf("before the change there are fields %v", l.Fields)
	}
}

func TestADeleteWorksInItsVChannelAlone(t *testing.T) {
	b := newMade(t, "a", "b")
	for _, v := range []string{"a", "b"} {
		b.created(v, 1, 10, "c")
	}
	b.segment("a", checkpoints.L1, 1, 10, 20, []madeRow{{key: 1, ts: 20, id: 1}, {key: 2, ts: 20, id: 2}})
	b.segment("b", checkpoints.L1, 1, 10, 21, []madeRow{{key: 3, ts: 20, id: 3}, {key: 1, ts: 20, id: 4}})
	b.segment("a", checkpoints.L0, 1, -1, 22, []madeRow{{key: 1, ts: 30}, {key: 2, ts: 20}, {key: 3, ts: 30}})
	a := b.open()
	for moment, want := range map[uint64][]int64{19: nil, 20: {1, 2, 3, 1}, 29: {1, 2, 3, 1}, 30: {2, 3, 1}} {
		if got := keysOf(t, live(t, a, archive.LiveOptions{Collection: "c", Until: moment})); !slices.Equal(got, want) {
			t.Errorf("at %d keys %v are live, want %v", moment, got, want)
		}
	}
}

func TestUniqueIsTheOldestLiveRowOfAKey(t *testing.T) {
	b := newMade(t, "a")
	b.created("a", 1, 10, "c")
	// Of key 1 the oldest row is deleted; the three of key 2 are of one moment.
	b.segment("a", checkpoints.L1, 1, 10, 20, []madeRow{{1, 20, 1}, {1, 50, 2}, {1, 40, 3}, {2, 25, 9}, {2, 25, 7}, {2, 25, 8}, {3, 20, 10}})
	b.segment("a", checkpoints.L0, 1, 10, 22, []madeRow{{key: 1, ts: 30}})
	a := b.open()
	l := live(t, a, archive.LiveOptions{Collection: "1", Unique: true})
	var ids []int64
	for r, err := range l.Rows(t.Context(), l.Partitions[0], nil) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	if !slices.Equal(ids, []int64{3, 7, 10}) {
		t.Errorf("rows %v", ids)
	}
}

func TestAPartitionMadeAnewHasNoRowsOfTheOldOne(t *testing.T) {
	b := newMade(t, "a")
	b.created("a", 1, 10, "c")
	b.event("a", checkpoints.Event{Kind: checkpoints.CreatePartition, Timestamp: 11, Collection: 1, Partition: 11, Name: "p"})
	b.event("a", checkpoints.Event{Kind: checkpoints.DropPartition, Timestamp: 30, Collection: 1, Partition: 11, Name: "p"})
	b.event("a", checkpoints.Event{Kind: checkpoints.CreatePartition, Timestamp: 40, Collection: 1, Partition: 12, Name: "p"})
	b.segment("a", checkpoints.L1, 1, 11, 20, []madeRow{{1, 20, 1}})
	b.segment("a", checkpoints.L1, 1, 12, 41, []madeRow{{2, 50, 2}})
	a := b.open()
	for moment, want := range map[uint64][]int64{29: {1}, 35: nil, 45: nil, 50: {2}} {
		if got := keysOf(t, live(t, a, archive.LiveOptions{Collection: "c", Until: moment})); !slices.Equal(got, want) {
			t.Errorf("at %d keys %v are live, want %v", moment, got, want)
		}
	}
	for moment, want := range map[uint64]bool{29: true, 35: false, 45: true} {
		_, err := a.Live(t.Context(), archive.LiveOptions{Collection: "c", Until: moment, Partitions: []string{"p"}})
		if (err == nil) != want || err != nil && !errors.Is(err, archive.ErrNoCollection) {
			t.Errorf("partition p at %d: %v", moment, err)
		}
	}
}

func TestTwoCollectionsOfOneNameAskForTheID(t *testing.T) {
	b := newMade(t, "a", "b")
	b.created("a", 1, 10, "c")
	b.created("b", 2, 20, "c")
	b.event("b", checkpoints.Event{Kind: checkpoints.AlterCollection, Timestamp: 30, Collection: 2, Name: "d", Schema: madeSchema(t, "d")})
	a := b.open()
	for _, c := range []struct {
		name   string
		moment uint64
		id     int64
		told   string
	}{
		{"c", 15, 1, ""},
		{"c", 25, 0, "1 (created 1970-01-01T00:00:00.000Z, timestamp 10), 2 (created"},
		{"2", 25, 2, ""},
		{"c", 30, 1, ""}, // the other one is d now
		{"d", 30, 2, ""},
		{"d", 25, 0, "there were: 2"},
		{"c", 5, 0, "there were: 1"},
		{"x", 0, 0, "no collection is or was named x"},
	} {
		l, err := a.Live(t.Context(), archive.LiveOptions{Collection: c.name, Until: c.moment})
		switch {
		case c.id != 0 && (err != nil || l.Collection != c.id):
			t.Errorf("%s at %d: %v", c.name, c.moment, err)
		case c.id == 0 && (!errors.Is(err, archive.ErrNoCollection) || !strings.Contains(err.Error(), c.told)):
			t.Errorf("%s at %d: %v", c.name, c.moment, err)
		}
	}
}

func TestACollectionIsCompleteUpToItsSlowestVChannel(t *testing.T) {
	b := newMade(t, "a", "b", "c")
	b.created("a", 1, 10, "c")
	b.created("b", 1, 10, "c")
	b.docs["b"].Seek.Tick, b.docs["c"].Seek.Tick = 25, 5 // c does not hold it
	b.segment("a", checkpoints.L1, 1, 10, 20, []madeRow{{1, 20, 1}, {2, 30, 2}})
	a := b.open()
	l := live(t, a, archive.LiveOptions{Collection: "c"})
	if got := keysOf(t, l); l.Until != 25 || l.Complete != 25 || !slices.Equal(got, []int64{1}) {
		t.Errorf("until %d, complete up to %d, keys %v", l.Until, l.Complete, got)
	}
	b.docs["b"].Seek.Tick = 0
	if l = live(t, b.open(), archive.LiveOptions{Collection: "c"}); len(keysOf(t, l)) != 2 || l.Complete != 0 {
		t.Errorf("without a tick: complete up to %d, keys %v", l.Complete, keysOf(t, l))
	}
}

func TestNoRowsAreGivenWhereADocumentIsLost(t *testing.T) {
	b := newMade(t, "a", "b")
	b.created("a", 1, 10, "c")
	b.open()
	put(t, b.m, checkpoints.DocumentKey("b-0"), []byte("{"), nil)
	if _, err := open(t, b.m).Live(t.Context(), archive.LiveOptions{Collection: "c"}); !errors.Is(err, checkpoints.ErrInvalid) {
		t.Errorf("%v", err)
	}
}
