package archive_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	"flowgraph/internal/archive"
	"flowgraph/stages/column"
)

func liveRows(t *testing.T, l *archive.Live) []string {
	t.Helper()
	out := []string{}
	key := slices.IndexFunc(l.Fields, func(f archive.LiveField) bool { return f.PrimaryKey })
	names := map[string]bool{}
	for _, p := range l.Partitions {
		if names[p.Name] || p.Name == "" && p.Stored > 0 { // the log names a partition with its first row
			t.Errorf("partition %d has the name %q of another one, or none", p.ID, p.Name)
		}
		names[p.Name] = true
		read := int64(0)
		for r, err := range l.Rows(t.Context(), p, func(n int64) { read += n }) {
			if err != nil {
				t.Fatal(err)
			}
			text := string(r.Values[key])
			if l.Fields[key].Width() == 8 {
				text = strconv.FormatInt(column.Int64(r.Values[key]), 10)
			}
			out = append(out, rowText(p.ID, text, r.ID, r.Timestamp))
		}
		if read != p.Stored {
			t.Errorf("partition %s: %d rows were read, %d are stored", p.Name, read, p.Stored)
		}
	}
	slices.Sort(out)
	return out
}

func TestLiveRowsAreThoseOfTheLogAtEveryMoment(t *testing.T) {
	for _, name := range recordings {
		t.Run(name, func(t *testing.T) {
			r := recorded(t, name)
			a := open(t, r.bucket)
			var x told
			x.read(t, r.path("records.jsonl.gz"))
			n := 12
			if name == "concurrent" {
				n = 4
			}
			sizes := map[int]bool{}
			for _, moment := range x.moments(n) {
				for collection := range x.created {
					want, alive := x.live(collection, moment)
					l, err := a.Live(t.Context(), archive.LiveOptions{Collection: strconv.FormatInt(collection, 10), Until: moment})
					if errors.Is(err, archive.ErrNoCollection) != !alive {
						t.Fatalf("collection %d at %d: alive %v, %v", collection, moment, alive, err)
					}
					if !alive {
						continue
					}
					if err != nil {
						t.Fatal(err)
					}
					if got := liveRows(t, l); !slices.Equal(got, want) {
						t.Errorf("collection %d at %d: %d rows, want %d", collection, moment, len(got), len(want))
					}
					sizes[len(want)] = true
				}
			}
			if len(sizes) < 3 {
				t.Errorf("the moments differ in nothing: %v", sizes)
			}
		})
	}
}

func TestANameIsTheCollectionThatIsAliveThen(t *testing.T) {
	r := recorded(t, "ddl")
	a := open(t, r.bucket)
	var x told
	x.read(t, r.path("records.jsonl.gz"))
	drop := x.drops[slices.IndexFunc(x.drops, func(d toldRow) bool { return d.partition == 0 })]
	for _, c := range []struct {
		moment uint64
		fresh  bool
		none   bool
	}{{moment: drop.timestamp - 1}, {moment: drop.timestamp, none: true}, {fresh: true}} {
		l, err := a.Live(t.Context(), archive.LiveOptions{Collection: "gone", Until: c.moment})
		if c.none {
			if !errors.Is(err, archive.ErrNoCollection) {
				t.Errorf("at the drop: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if (l.Collection == drop.collection) == c.fresh || l.Name != "gone" {
			t.Errorf("at %d %q is %d", c.moment, l.Name, l.Collection)
		}
		if c.fresh && (l.Until != l.Complete || l.Complete == 0) {
			t.Errorf("without a moment it is %d, complete up to %d", l.Until, l.Complete)
		}
	}
}
