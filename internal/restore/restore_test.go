package restore_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
	"flowgraph/internal/restore"
)

// moments are some of those at which something happened, each once as it is,
// within a millisecond, and once as the whole millisecond that it ends.
func moments(l *archive.Live) []uint64 {
	var all []uint64
	for _, p := range l.Partitions {
		for _, s := range p.Segments {
			for _, f := range s.Flushes {
				all = append(all, f.MinTS, f.MaxTS, f.MinTS/2+f.MaxTS/2)
			}
		}
		for _, v := range l.VChannels {
			n := 0
			for _, ts := range l.Deletes(v, p.ID) {
				if n++; n < 4 {
					all = append(all, ts-1, ts)
				}
			}
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	var out []uint64
	for i := 0; i < len(all); i += max(1, len(all)/6) {
		out = append(out, all[i], all[i]>>18<<18)
	}
	return append(out, l.Until)
}

func TestACopyHasTheLiveRowsOfItsMoment(t *testing.T) {
	for recording, names := range map[string][]string{"all_types": {"all_types"}, "varchar_pk": {"by_name"}, "ddl": {"ddl", "gone"}, "upsert": {"ups"}} {
		t.Run(recording, func(t *testing.T) {
			b := archived(t, recording)
			for _, name := range names {
				sizes := map[int]bool{}
				for _, until := range moments(live(t, b, archive.LiveOptions{Collection: name})) {
					f := newMilvus(t)
					plan, result, err := f.begin(b, live(t, b, archive.LiveOptions{Collection: name, Until: until}), "copy")
					if err != nil {
						t.Fatalf("as of %d: %v", until, err)
					}
					n := f.same(plan, "copy")
					if int64(n) != result.Total || result.Resumed {
						t.Errorf("as of %d: %d rows, the result says %+v", until, n, result)
					}
					sizes[n] = true
				}
				if len(sizes) < 2 {
					t.Errorf("all moments of %s have the same rows: the test shows nothing", name)
				}
			}
		})
	}
}

// A reply that is lost must not let rows be imported twice, nor left out.
func TestARestoreThatBreaksOffAnywhereGoesOnAndDoublesNothing(t *testing.T) {
	b := archived(t, "ddl")
	gone := errors.New("gone")
	for request, limit := range map[string]int{
		"HasCollection": 1, "CreateCollection": 1, "DescribeCollection": 1, "CreatePartition": 2, "ShowPartitions": 1,
		"GetPartitionStatistics": 2, "Import": 3, "GetImportState": 1,
	} {
		for _, after := range []bool{false, true} {
			for at := range limit * 3 {
				f := newMilvus(t)
				at, f.silent, f.forgetful = at/3, at%3 == 1, at%3 == 2
				n := 0
				f.trouble = func(name string, done bool) error {
					if name == request && done == after {
						if n++; n > at {
							return gone
						}
					}
					return nil
				}
				l := live(t, b, archive.LiveOptions{Collection: "ddl"})
				if _, _, err := f.begin(b, l, "copy"); !errors.Is(err, restore.ErrMilvus) || !strings.Contains(err.Error(), "gone") {
					t.Fatalf("%s, after %v: %v", request, after, err)
				}
				f.mu.Lock()
				f.trouble = nil
				f.mu.Unlock()
				plan, result, err := f.begin(b, l, "copy")
				if err != nil {
					t.Fatalf("%s number %d, after %v: the second run: %v", request, at, after, err)
				}
				f.same(plan, "copy")
				if begun := request == "Import" || request == "GetImportState"; begun && !result.Resumed {
					t.Errorf("%s: the second run began anew", request)
				}
			}
		}
	}
}

func TestAnImportThatFailedIsMadeAgain(t *testing.T) {
	b := archived(t, "upsert")
	f := newMilvus(t)
	l := live(t, b, archive.LiveOptions{Collection: "ups"})
	prefix := ""
	for _, p := range l.Partitions {
		for _, s := range p.Segments {
			prefix = strings.TrimSuffix(s.ManifestKey()[len("segments/"):], ".json")
		}
	}
	// Something foreign is in the way of the first import.
	wrong := "default/copy/0/insert_log/" + prefix + "/0/more/stray"
	f.bucket.Set(wrong, nil)
	_, _, err := f.begin(b, l, "copy")
	if !errors.Is(err, restore.ErrImport) || !strings.Contains(err.Error(), "lies in the way") {
		t.Fatal(err)
	}
	f.bucket.Remove(wrong)
	plan, result, err := f.begin(b, l, "copy")
	if err != nil || !result.Resumed {
		t.Fatal(result, err)
	}
	f.same(plan, "copy")
}

// A Milvus that is started again has failed what it was at.
func TestAnImportThatFailedWhileNobodyLookedIsMadeAgainAtOnce(t *testing.T) {
	b := archived(t, "upsert")
	f := newMilvus(t)
	f.trouble = func(name string, _ bool) error {
		if name == "GetImportState" {
			return errors.New("gone")
		}
		return nil
	}
	l := live(t, b, archive.LiveOptions{Collection: "ups"})
	if _, _, err := f.begin(b, l, "copy"); !errors.Is(err, restore.ErrMilvus) {
		t.Fatal(err)
	}
	f.mu.Lock()
	f.trouble = nil
	for _, task := range f.tasks {
		task.State = commonpb.ImportState_ImportFailedAndCleaned
	}
	clear(f.collections["copy"].rows)
	f.collections["copy"].rows["_default"] = nil
	f.mu.Unlock()
	plan, _, err := f.begin(b, l, "copy")
	if err != nil {
		t.Fatal(err)
	}
	f.same(plan, "copy")
}

func TestAnImportThatStandsStillSaysNothing(t *testing.T) {
	b := archived(t, "upsert")
	l := live(t, b, archive.LiveOptions{Collection: "ups"})
	for looks, want := range map[int]int{6: 0, 40: 1} { // Patience is 3
		f := newMilvus(t)
		f.stuck = looks
		told := 0
		plan, _, err := f.begin(b, l, "copy", func(o *restore.Options) {
			o.Stuck = func(task int64, partition string) {
				if told++; task == 0 || partition == "" {
					t.Errorf("task %d, partition %q", task, partition)
				}
			}
		})
		if err != nil || told != want {
			t.Errorf("%d looks at an import that stands still: told %d times, want %d (%v)", looks, told, want, err)
		}
		f.same(plan, "copy")
	}
}

// kept is a stage that may not remove.
type kept struct{ *stage }

var errKept = errors.New("403 AccessDenied")

func (k kept) Remove(context.Context, string) error { return errKept }

// Somebody who reads that a removal was refused would think that rows are missing.
func TestAStageThatCannotBeRemovedHidesThatAllRowsAreThere(t *testing.T) {
	b := archived(t, "upsert")
	f := newMilvus(t)
	l := live(t, b, archive.LiveOptions{Collection: "ups"})
	_, _, err := f.begin(b, l, "copy", func(o *restore.Options) { o.Stage = kept{&stage{f.bucket, b}} })
	if !errors.Is(err, restore.ErrLeft) || !errors.Is(err, errKept) || !strings.Contains(err.Error(), "rows are restored into copy") {
		t.Fatal(err)
	}
	plan, result, err := f.begin(b, l, "copy") // of someone who may
	if err != nil || !result.Resumed {
		t.Fatal(result, err)
	}
	f.same(plan, "copy")
	if left := f.bucket.Keys("default/copy/"); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

func TestATargetThatDoesNotFitIsRefused(t *testing.T) {
	b := archived(t, "ddl")
	l := live(t, b, archive.LiveOptions{Collection: "ddl"})
	f := newMilvus(t)
	if _, _, err := f.begin(b, l, "copy"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.begin(b, l, "copy"); !errors.Is(err, restore.ErrOccupied) {
		t.Errorf("over rows: %v", err)
	}
	rows := len(f.rows("copy", "_default"))
	if _, _, err := f.begin(b, l, "copy", func(o *restore.Options) { o.AddRows = true }); err != nil || len(f.rows("copy", "_default")) != 2*rows {
		t.Errorf("added to rows: %v", err)
	}
	field := f.collections["copy"].schema.GetFields()[1]
	field.DataType = schemapb.DataType_Double
	if _, _, err := f.begin(b, l, "copy"); !errors.Is(err, restore.ErrTarget) || !strings.Contains(err.Error(), field.GetName()+" Double") {
		t.Errorf("another type: %v", err)
	}
}

func TestTwoRestoresIntoOneCollectionDoNotMix(t *testing.T) {
	b := archived(t, "upsert")
	f := newMilvus(t)
	f.trouble = func(name string, _ bool) error {
		if name == "Import" {
			return errors.New("gone")
		}
		return nil
	}
	l := live(t, b, archive.LiveOptions{Collection: "ups"})
	if _, _, err := f.begin(b, l, "copy"); !errors.Is(err, restore.ErrMilvus) {
		t.Fatal(err)
	}
	f.mu.Lock()
	f.trouble = nil
	f.mu.Unlock()
	other := live(t, b, archive.LiveOptions{Collection: "ups", Until: l.Until - 1<<18})
	if _, _, err := f.begin(b, other, "copy"); !errors.Is(err, restore.ErrUnderWay) {
		t.Fatalf("another moment: %v", err)
	}
	until, err := restore.Unfinished(t.Context(), &stage{f.bucket, b}, "", "copy")
	if err != nil || until != l.Until {
		t.Errorf("unfinished as of %d, %v; want %d", until, err, l.Until)
	}
	// Once its target is dropped, nothing of the first is left to mix with.
	f.mu.Lock()
	delete(f.collections, "copy")
	f.mu.Unlock()
	plan, result, err := f.begin(b, other, "copy")
	if err != nil || result.Resumed {
		t.Fatal(result, err)
	}
	f.same(plan, "copy")
}

// Who may not write where the rows are to be staged learns of it before there
// is an empty collection.
func TestARefusedStageLeavesNoCollectionBehind(t *testing.T) {
	b := archived(t, "ddl")
	f := newMilvus(t)
	f.bucket.Before(func(_ context.Context, c membucket.Call) error {
		if c.Op == membucket.Put {
			return checkpoints.ErrRefused
		}
		return nil
	})
	if _, _, err := f.begin(b, live(t, b, archive.LiveOptions{Collection: "ddl"}), "copy"); !errors.Is(err, checkpoints.ErrRefused) {
		t.Fatalf("got %v", err)
	}
	if len(f.collections) > 0 {
		t.Error("the collection is there")
	}
	f.bucket.Before(nil)
	plan, _, err := f.begin(b, live(t, b, archive.LiveOptions{Collection: "ddl"}), "copy")
	if err != nil || f.same(plan, "copy") == 0 {
		t.Errorf("once it is allowed: %v", err)
	}
}

// Statistics only spare deletes that concern no row of a segment.
func TestARestoreWithoutStatisticsOfKeysLacksNothing(t *testing.T) {
	b := archived(t, "ddl")
	l := live(t, b, archive.LiveOptions{Collection: "ddl"})
	for i, key := range b.Keys("stats_log/") {
		if b.Set(key, []byte("{")); i%2 == 0 {
			b.Remove(key)
		}
	}
	f := newMilvus(t)
	plan, _, err := f.begin(b, l, "copy")
	if err != nil {
		t.Fatal(err)
	}
	if f.same(plan, "copy") == 0 || l.DeletedKeys() == 0 {
		t.Error("no rows, or no deletes: the test shows nothing")
	}
}
