package checkpoints_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/membucket"
)

// reach is a change whose pack ends where its position does, as a flow's do.
func reach(c checkpoints.Change) checkpoints.Change {
	c.End = c.Seek
	return c
}

// aged is a bucket with every version that its document had, oldest first.
type aged struct {
	*membucket.Bucket
	versions [][]byte
}

// grow lets three lives seal segments of all kinds, drop a partition and leave
// some segments open.
func grow(t *testing.T) *aged {
	t.Helper()
	a := &aged{Bucket: membucket.New()}
	a.After(func(_ context.Context, c membucket.Call) error {
		if c.Op == membucket.Put && c.Key == checkpoints.DocumentKey(v0.Name()) {
			a.versions = append(a.versions, c.Data)
		}
		return nil
	})
	l := begin(t, a.Bucket)
	step := func(changes ...checkpoints.Change) {
		for _, c := range changes {
			l.ack(reach(c))
		}
		l.flush()
	}
	step(event(checkpoints.Event{Kind: checkpoints.CreateCollection, Offset: 0, Name: "c", Schema: []byte("s")}))
	step(l.rows(segment(7, 1, 10), 5), l.rows(auto(l.names.SegmentID(), 2, 10), 3))
	step(l.last(segment(7, 1, 20), 5))
	step(l.last(auto(l.names.SegmentID(), 12, 22), 3))
	l = begin(t, a.Bucket)
	step(l.rows(segment(8, 24, 30), 2), l.last(deletes(l.names.SegmentID(), 23, 31), 4))
	step(l.last(segment(9, 31, 40), 2), event(checkpoints.Event{Kind: checkpoints.CreatePartition, Offset: 40, Partition: 102, Name: "p"}))
	l = begin(t, a.Bucket)
	step(l.last(segment(8, 24, 50), 1))
	step(l.rows(segment(10, 51, 60), 1))
	a.After(nil)
	return a
}

func (a *aged) putBack(t *testing.T, version []byte) {
	t.Helper()
	a.Set(checkpoints.DocumentKey(v0.Name()), version)
}

// told claims as a worker does whose group was told of a later position.
func (a *aged) told(t *testing.T, offset int64) (looked bool, err error) {
	t.Helper()
	asking := checkpoints.NewSurveyor(a.Bucket).Ask()
	defer asking.Done()
	_, _, err = checkpoints.ClaimBy(t.Context(), a.Bucket, v0, 0, checkpoints.Signs{Told: checkpoints.Told{Seek: at(offset)}, Home: "here/a-bucket/files",
		Survey: func(ctx context.Context, _ string) (*checkpoints.Survey, error) {
			looked = true
			return asking.Survey(ctx)
		}})
	return looked, err
}

// seen says whether d or one of the versions before it shows all that has a
// manifest or an event of its own in the bucket.
func (a *aged) seen(t *testing.T, version int) bool {
	t.Helper()
	known := map[string]bool{}
	for _, data := range a.versions[:version+1] {
		d, err := checkpoints.Decode(v0.Name(), data)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range d.Segments {
			if s.State >= checkpoints.Flushed {
				known[s.ManifestKey()] = true
			}
		}
		for _, e := range d.Events {
			known[checkpoints.EventKey(d.VChannel, d.TopicID, e.Offset)] = true
		}
	}
	return !slices.ContainsFunc(a.Keys(""), func(key string) bool {
		return (strings.HasPrefix(key, "segments/") || strings.HasPrefix(key, "ddl/")) && !known[key]
	})
}

func TestAnOlderDocumentIsGoneOnFrom(t *testing.T) {
	a := grow(t)
	older := 0
	for i, version := range a.versions {
		d, err := checkpoints.Decode(v0.Name(), version)
		if err != nil {
			t.Fatal(err)
		}
		a.putBack(t, version)
		before := a.Data(checkpoints.DocumentKey(v0.Name()))
		looked, err := a.told(t, 1000)
		if !looked {
			t.Errorf("version %d: a group that was told 1000 is no sign for seek position %d", i, d.Seek.Offset)
		}
		if a.seen(t, i) {
			if err != nil {
				t.Errorf("version %d shows all that there is, and is refused: %v", i, err)
			}
			continue
		}
		older++
		if !errors.Is(err, checkpoints.ErrOlder) {
			t.Errorf("version %d of %d: %v", i, len(a.versions), err)
		}
		if after := a.Data(checkpoints.DocumentKey(v0.Name())); string(after) != string(before) {
			t.Errorf("version %d was written over", i)
		}
	}
	if older < 5 || older == len(a.versions) {
		t.Errorf("%d of %d versions are older than what lies around them", older, len(a.versions))
	}
}

// A document as its owner left it is never looked at, and never refused where
// it is looked at: a bucket that was moved, a group that another program uses.
func TestADocumentThatIsTheLastOneIsRefused(t *testing.T) {
	a := grow(t)
	a.After(func(_ context.Context, c membucket.Call) error { return nil })
	last := a.versions[len(a.versions)-1]
	for _, told := range []int64{0, 60} {
		a.putBack(t, last)
		if looked, err := a.told(t, told); looked || err != nil {
			t.Errorf("told %d: looked %t, %v", told, looked, err)
		}
	}
	for i, told := range []int64{61, 61} {
		if looked, err := a.told(t, told); !looked || err != nil {
			t.Errorf("%d: looked %t, %v", i, looked, err)
		}
	}
}

func TestACopyIsGoneOnFromAsIfItWereTheOriginal(t *testing.T) {
	a := grow(t)
	signs := func(home string, looked *int) checkpoints.Signs {
		asking := checkpoints.NewSurveyor(a.Bucket).Ask()
		return checkpoints.Signs{Home: home, Survey: func(ctx context.Context, _ string) (*checkpoints.Survey, error) {
			*looked++
			return asking.Survey(ctx)
		}}
	}
	looked := 0
	claim := func(home string) error {
		_, _, err := checkpoints.ClaimBy(t.Context(), a.Bucket, v0, 0, signs(home, &looked))
		return err
	}
	for _, c := range []struct {
		home string
		want int
	}{{"a/b/files", 0}, {"a/b/files", 0}, {"a/copy/files", 1}, {"a/copy/files", 1}, {"", 1}, {"a/copy/files", 1}} {
		if err := claim(c.home); err != nil || looked != c.want {
			t.Fatalf("%q: looked %d times, want %d: %v", c.home, looked, c.want, err)
		}
	}
	// A document of the original beside manifests that are newer.
	old, err := checkpoints.Decode(v0.Name(), a.versions[3])
	if err != nil {
		t.Fatal(err)
	}
	old.Home = "a/b/files"
	data, err := old.Encode()
	if err != nil {
		t.Fatal(err)
	}
	a.putBack(t, data)
	if err := claim("a/copy/files"); !errors.Is(err, checkpoints.ErrOlder) {
		t.Errorf("%v", err)
	}
	if err := claim("a/b/files"); err != nil {
		t.Errorf("nothing speaks against it in its own place: %v", err)
	}
}

// A rewind goes below what the group was told, and knows it.
func TestARewindLooksLikeAnOlderDocument(t *testing.T) {
	a := grow(t)
	if _, err := checkpoints.Rewind(t.Context(), a.Bucket, v0, checkpoints.Position{LeaderEpoch: -1}); err != nil {
		t.Fatal(err)
	}
	if looked, err := a.told(t, 60); looked || err != nil {
		t.Errorf("looked %t, %v", looked, err)
	}
	if looked, err := a.told(t, 61); !looked || err != nil {
		t.Errorf("where it looks it finds nothing: looked %t, %v", looked, err)
	}
}

// Documents that were copied after the manifests know of more than there is.
func TestSegmentsThatACopyLacksAreMissedByNobody(t *testing.T) {
	a := grow(t)
	for _, key := range a.Keys("segments/") {
		data := a.Data(key)
		a.Remove(key)
		last := a.versions[len(a.versions)-1]
		a.putBack(t, last)
		looked, err := a.told(t, 1000)
		if !looked || !errors.Is(err, checkpoints.ErrIncomplete) {
			t.Errorf("without %s: looked %t, %v", key, looked, err)
		}
		a.Set(key, data)
	}
}

// The first document of a bucket that holds manifests of the same log is none.
func TestAFirstStartStoresEverythingOnceMore(t *testing.T) {
	a := grow(t)
	a.Remove(checkpoints.DocumentKey(v0.Name()))
	a.Remove(checkpoints.BornKey(v0.Name()))
	if looked, err := a.told(t, 60); !looked || !errors.Is(err, checkpoints.ErrOlder) {
		t.Errorf("looked %t, %v", looked, err)
	}
}

// Claims that ask at once are answered by one survey; one that asks later is
// not answered by what was seen before.
func TestASurveyAnswersWhoAskedAfterIt(t *testing.T) {
	a := grow(t)
	s := checkpoints.NewSurveyor(a.Bucket)
	lists := func() int { return len(a.Calls(membucket.List, checkpoints.ManifestPrefix)) }
	before := lists()
	var asking []*checkpoints.Asking
	for range 3 {
		asking = append(asking, s.Ask())
	}
	for i, q := range asking {
		if _, err := q.Survey(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := lists() - before; n != 1 {
			t.Errorf("claim %d: %d surveys for all that asked at once", i, n)
		}
	}
	later := s.Ask()
	if _, err := later.Survey(t.Context()); err != nil || lists()-before != 2 {
		t.Errorf("%d surveys, %v", lists()-before, err)
	}
	for _, q := range append(asking, later) {
		q.Done()
	}
}

// accept runs the command with a bucket whose removals may fail.
func (a *aged) accept(t *testing.T, fails func(removed int) error) (*checkpoints.Document, error) {
	t.Helper()
	removed := 0
	return checkpoints.AcceptDocument(t.Context(), a.Bucket, v0, checkpoints.Acceptance{Above: 40, Home: "here/a-bucket/files",
		Remove: func(ctx context.Context, d *checkpoints.Document) (int64, error) {
			events, err := checkpoints.EventsAhead(ctx, a.Bucket, d)
			if err != nil {
				return 0, err
			}
			var keys []string
			for _, e := range events {
				keys = append(keys, checkpoints.EventKey(d.VChannel, d.TopicID, e.Offset))
			}
			n := int64(0)
			for _, key := range a.Keys("segments/") {
				m, err := checkpoints.DecodeManifest(key, a.Data(key))
				if err != nil {
					return 0, err
				}
				switch {
				case d.Ahead(m.Sealed()) != "":
					keys = append(keys, key)
				case d.Segments[m.ID] == nil:
					n++
				}
			}
			for _, key := range keys {
				if err := fails(removed); err != nil {
					return 0, err
				}
				a.Remove(key)
				removed++
			}
			return n, nil
		}})
}

// Every version is accepted, broken off after each removal: until it has ended
// no worker goes on where anything lies ahead, and afterwards one does.
func TestAnAcceptanceThatBreaksOffIsTakenForDone(t *testing.T) {
	broken := errors.New("killed")
	whole := grow(t)
	for i := range whole.versions {
		for at := 0; ; at++ {
			a := grow(t)
			d, err := checkpoints.Decode(v0.Name(), a.versions[i])
			if err != nil {
				t.Fatal(err)
			}
			a.putBack(t, a.versions[i])
			accepted, err := a.accept(t, func(removed int) error {
				if removed == at {
					return broken
				}
				return nil
			})
			if errors.Is(err, broken) {
				if looked, err := a.told(t, 0); !looked || !errors.Is(err, checkpoints.ErrOlder) {
					t.Fatalf("version %d, killed after %d removals: looked %t, %v", i, at, looked, err)
				}
				accepted, err = a.accept(t, func(int) error { return nil })
			}
			if err != nil {
				t.Fatal(err)
			}
			if accepted.Epoch <= 40 || accepted.Seek != d.Seek || accepted.ReadFrom != d.ReadFrom || accepted.Unsettled != 0 {
				t.Fatalf("version %d: accepted as %s", i, asJSON(accepted))
			}
			if looked, err := a.told(t, 1000); !looked || err != nil {
				t.Fatalf("version %d: looked %t, %v", i, looked, err)
			}
			if n := fmt.Sprint(len(a.Keys("segments/"))); *accepted.Manifests > int64(len(a.Keys("segments/"))) {
				t.Fatalf("version %d: %d manifests counted of %s", i, *accepted.Manifests, n)
			}
			if at > len(whole.Keys("segments/"))+len(whole.Keys("ddl/")) {
				break
			}
		}
	}
}
