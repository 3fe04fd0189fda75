package restore_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
	"flowgraph/internal/restore"
)

// here has the archive itself in the bucket that Milvus reads.
func (f *fakeMilvus) here(b *membucket.Bucket, l *archive.Live, change ...func(*restore.Options)) (*restore.Plan, *restore.Result) {
	f.t.Helper()
	f.bucket = b
	plan, result, err := f.begin(b, l, "copy", append(change, func(o *restore.Options) { o.Here = func(key string) string { return key } })...)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, p := range plan.Partitions {
		if got := f.rows("copy", p.Name); !slices.Equal(got, wanted(f.t, l, p.LivePartition)) {
			f.t.Errorf("partition %s: %d rows in the copy, or others", p.Name, len(got))
		}
	}
	if left := b.Keys("default/"); len(left) > 0 {
		f.t.Errorf("left on the stage: %v", left[:1])
	}
	return plan, result
}

// dropped is the collection of the recording that was dropped, right before.
func dropped(t *testing.T, b *membucket.Bucket) *archive.Live {
	t.Helper()
	a, err := archive.Open(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	lives, err := a.CollectionLives(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range lives {
		if c.Name == "gone" && c.Dropped > 0 {
			return live(t, b, archive.LiveOptions{Collection: "gone", Until: (c.Dropped - 1) >> 18 << 18})
		}
	}
	t.Fatal("nothing was dropped")
	return nil
}

func TestWhatWasDroppedIsReadWhereItLies(t *testing.T) {
	b := archived(t, "ddl")
	f := newMilvus(t)
	plan, result := f.here(b, dropped(t, b))
	if result.InPlace == 0 || result.InPlace != len(plan.Partitions) || result.Total == 0 {
		t.Errorf("%+v of %d partitions", result, len(plan.Partitions))
	}
}

// An import takes everything under a prefix.
func TestAFileThatIsNoneOfThePlanIsNotImportedWithIt(t *testing.T) {
	b := archived(t, "ddl")
	l := dropped(t, b)
	s := l.Partitions[0].Segments[0]
	orphan := strings.TrimSuffix(s.ManifestKey()[len("segments/"):], ".json")
	b.Set("insert_log/"+orphan+"/100/100000090000000001", []byte("of a worker that was killed"))
	if _, result := newMilvus(t).here(b, l); result.InPlace >= len(l.Partitions) {
		t.Errorf("%d of %d partitions in place", result.InPlace, len(l.Partitions))
	}
}

func TestWhatAWorkerMayStillAddToIsNotReadInPlaceUnlessSaidSo(t *testing.T) {
	b := archived(t, "upsert")
	l := live(t, b, archive.LiveOptions{Collection: "ups", Until: live(t, b, archive.LiveOptions{Collection: "ups"}).Until >> 18 << 18})
	if _, result := newMilvus(t).here(b, l); result.InPlace != 0 {
		t.Errorf("%d in place", result.InPlace)
	}
	if _, result := newMilvus(t).here(b, l, func(o *restore.Options) { o.Quiet = true }); result.InPlace != 1 {
		t.Errorf("%d in place, although nobody writes", result.InPlace)
	}
}

// A file that appears between staging and the request must not come along.
func TestWhatChangedBeforeTheRequestIsStagedAfterAll(t *testing.T) {
	b := archived(t, "ddl")
	l := dropped(t, b)
	puts := 0
	b.Before(func(_ context.Context, c membucket.Call) error {
		if c.Op == membucket.Put && strings.HasSuffix(c.Key, "/restore.json") {
			if puts++; puts == 3 { // begun, decided, and now the deletes are staged
				s := l.Partitions[0].Segments[0]
				b.Set("insert_log/"+strings.TrimSuffix(s.ManifestKey()[len("segments/"):], ".json")+"/100/100000090000000001", []byte("late"))
			}
		}
		return nil
	})
	if _, result := newMilvus(t).here(b, l); puts < 3 || result.InPlace >= len(l.Partitions) {
		t.Errorf("%d puts of the journal, %d in place", puts, result.InPlace)
	}
}
