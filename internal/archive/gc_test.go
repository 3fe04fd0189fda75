package archive_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/devstack"
	"flowgraph/internal/membucket"
	"flowgraph/internal/testlog"
)

// remover removes from a bucket in memory, so many objects at most.
type remover struct {
	m     *membucket.Bucket
	limit int
}

var errStopped = errors.New("stopped by the test")

func (r *remover) Remove(_ context.Context, key string) error {
	if r.limit--; r.limit < 0 {
		return errStopped
	}
	r.m.Remove(key)
	return nil
}

// collect returns the keys of all garbage, in order.
func collect(t *testing.T, b checkpoints.Bucket, o archive.GarbageOptions) ([]string, *archive.Collector, error) {
	t.Helper()
	g, err := archive.NewCollector(t.Context(), b, o)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for found, err := range g.Garbage(t.Context()) {
		if err != nil {
			return keys, g, err
		}
		keys = append(keys, found.Key)
	}
	slices.Sort(keys)
	return keys, g, nil
}

// orphans is what nothing refers to and what no worker may come back to, by
// the lists of what is there and what is referred to.
func orphans(t *testing.T, b checkpoints.Bucket) (list []string) {
	t.Helper()
	a, known := open(t, b), references(t, b)
	for _, key := range everything(t, b) {
		meta := metaOf(t, b, key)
		if _, referred := slices.BinarySearch(known, key); referred || strings.HasPrefix(key, "checkpoints/") || strings.HasSuffix(key, "/1") {
			continue
		}
		if v := a.VChannel(meta["vchannel"]); checkpoints.Meta(v.Name, v.Doc.Epoch)["epoch"] != meta["epoch"] {
			list = append(list, key)
		}
	}
	return list
}

// killed is a bucket that several workers left in the middle of their work.
func killed(t *testing.T, seed uint64) (*membucket.Bucket, *devstack.Broker, *archive.Expected) {
	t.Helper()
	path, _ := generated(t, seed, 2500)
	broker := testlog.Broker(t, path)
	t.Cleanup(broker.Close)
	want, err := archive.Expect(archive.Recorded(path))
	if err != nil {
		t.Fatal(err)
	}
	m := membucket.New()
	for i, puts := range []int64{70, 41, 150, 300} {
		life(t, broker, m, puts, i%2 == 1)
	}
	return m, broker, want
}

func TestGarbageIsExactlyWhatKilledWorkersLeft(t *testing.T) {
	m, broker, want := killed(t, 3)
	lost := orphans(t, m)
	found, g, err := collect(t, m, archive.GarbageOptions{})
	if err != nil || len(lost) == 0 || !slices.Equal(found, lost) {
		t.Fatalf("%v: found:\n%s\nthere are:\n%s", err, strings.Join(found, "\n"), strings.Join(lost, "\n"))
	}
	if g.Kept.Current == 0 || len(g.Unreadable) > 0 {
		t.Errorf("the last life left nothing, or something cannot be read: %+v", g)
	}
	// Dry until told so; stopped in the middle; begun again.
	before := everything(t, m)
	if slices.ContainsFunc(found, func(k string) bool { return !slices.Contains(before, k) }) {
		t.Error("a dry run removed something")
	}
	if _, _, err = collect(t, m, archive.GarbageOptions{Remove: &remover{m, len(found) / 2}}); !errors.Is(err, errStopped) {
		t.Fatal(err)
	}
	if _, _, err = collect(t, m, archive.GarbageOptions{Remove: &remover{m, 1 << 30}}); err != nil {
		t.Fatal(err)
	}
	if left := slices.DeleteFunc(before, func(k string) bool { return slices.Contains(found, k) }); !slices.Equal(left, everything(t, m)) {
		t.Error("other objects were removed than those that were found")
	}
	if again, _, err := collect(t, m, archive.GarbageOptions{}); err != nil || len(again) > 0 {
		t.Errorf("%v: found again: %v", err, again)
	}
	report := check(t, m, want, archive.CheckOptions{Partial: true})
	if report.Err() != nil || report.Unreferenced > 0 {
		t.Errorf("%s", report)
	}
	life(t, broker, m, 0, false)
	if report = check(t, m, want, archive.CheckOptions{}); report.Err() != nil {
		t.Errorf("%s", report)
	}
	// What the last of the killed ones left is of an epoch that has ended now.
	if _, _, err = collect(t, m, archive.GarbageOptions{Remove: &remover{m, 1 << 30}}); err != nil {
		t.Fatal(err)
	}
	if report = check(t, m, want, archive.CheckOptions{}); report.Err() != nil || report.Unreferenced > 0 {
		t.Errorf("%s", report)
	}
}

// beside lets something happen once before a call of the bucket.
type beside struct {
	*membucket.Bucket
	at int // call
	do func()
}

func (b *beside) step() {
	if b.at--; b.at == 0 {
		b.do()
	}
}

func (b *beside) Get(ctx context.Context, key string) ([]byte, checkpoints.Info, error) {
	b.step()
	return b.Bucket.Get(ctx, key)
}

func (b *beside) Stat(ctx context.Context, key string) (checkpoints.Info, error) {
	b.step()
	return b.Bucket.Stat(ctx, key)
}

func (b *beside) List(ctx context.Context, prefix string) iter.Seq2[checkpoints.Info, error] {
	b.step()
	return b.Bucket.List(ctx, prefix)
}

// lockstep calls a bucket that is not safe for concurrent use one at a time.
type lockstep struct {
	turn chan struct{}
	b    *beside
}

func (l *lockstep) Put(ctx context.Context, key string, o checkpoints.Object, c checkpoints.Condition) (checkpoints.Info, error) {
	return l.b.Put(ctx, key, o, c)
}

func (l *lockstep) Get(ctx context.Context, key string) ([]byte, checkpoints.Info, error) {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	return l.b.Get(ctx, key)
}

func (l *lockstep) Stat(ctx context.Context, key string) (checkpoints.Info, error) {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	return l.b.Stat(ctx, key)
}

func (l *lockstep) List(ctx context.Context, prefix string) iter.Seq2[checkpoints.Info, error] {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	return l.b.List(ctx, prefix)
}

// A worker claims and commits, to the end or until it is killed, at some
// moment of the collection: between documents, manifests and lists.
func TestGarbageCollectionBesideAWorkerRemovesWhatItRefersTo(t *testing.T) {
	base, broker, want := killed(t, 4)
	calls := 0
	for _, at := range []int{2, 3, 4, 6, 30, 90} {
		m := copyOf(t, base)
		b := &lockstep{make(chan struct{}, 1), &beside{m, at, func() {
			calls++
			life(t, broker, m, int64(at%3)*200, at%2 == 1)
		}}}
		if _, _, err := collect(t, b, archive.GarbageOptions{Remove: &remover{m, 1 << 30}}); err != nil {
			t.Fatal(err)
		}
		if report := check(t, m, want, archive.CheckOptions{Partial: true}); report.Err() != nil {
			t.Errorf("a worker before call %d: %s", at, report)
		}
		life(t, broker, m, 0, false)
		if report := check(t, m, want, archive.CheckOptions{}); report.Err() != nil {
			t.Errorf("a worker before call %d: %s", at, report)
		}
	}
	if calls < 4 {
		t.Errorf("only %d workers ran", calls)
	}
}

func TestWhatCannotBeReadProtectsWhatItMayReferTo(t *testing.T) {
	base, broker, _ := killed(t, 3)
	all, _, err := collect(t, base, archive.GarbageOptions{})
	if err != nil {
		t.Fatal(err)
	}
	v := open(t, base).VChannels()[0]
	of := func(m *membucket.Bucket, name string) (n int) {
		for _, key := range all {
			if metaOf(t, m, key)["vchannel"] == name {
				n++
			}
		}
		return n
	}
	for name, do := range map[string]func(m *membucket.Bucket){
		"document gone":    func(m *membucket.Bucket) { m.Remove(checkpoints.DocumentKey(v.Name)) },
		"document damaged": func(m *membucket.Bucket) { m.Set(checkpoints.DocumentKey(v.Name), []byte("{")) },
	} {
		t.Run(name, func(t *testing.T) {
			m := copyOf(t, base)
			do(m)
			found, g, err := collect(t, m, archive.GarbageOptions{})
			if err != nil || len(found) != len(all)-of(base, v.Name) || len(found) == len(all) || len(g.Unreadable) != 1 || g.Kept.Protected == 0 {
				t.Errorf("%v: found %d of %d: %+v", err, len(found), len(all), g.Kept)
			}
		})
	}
	t.Run("manifest damaged", func(t *testing.T) {
		m := copyOf(t, base)
		life(t, broker, m, 0, false) // to the end: there are manifests
		// A killed worker's file of the segment, whether one was left or not.
		i := slices.IndexFunc(all, func(key string) bool { return strings.HasPrefix(key, "insert_log/") })
		s := pick(t, m, func(s *archive.Segment) bool { return manifested(s) && s.VChannel == metaOf(t, m, all[i])["vchannel"] })
		own := fmt.Sprintf("/%d/", s.ID)
		log := all[i][strings.LastIndex(all[i], "/"):]
		left := fmt.Sprintf("insert_log/%d/%d/%d/0%s", s.Collection, s.Partition, s.ID, log)
		put(t, m, left, get(t, m, all[i]), metaOf(t, m, all[i]))
		if found, _, err := collect(t, m, archive.GarbageOptions{}); err != nil || !slices.Contains(found, left) {
			t.Fatalf("%v: %s is not garbage while the manifest can be read", err, left)
		}
		m.Set(s.ManifestKey(), []byte("{"))
		found, g, err := collect(t, m, archive.GarbageOptions{})
		for _, key := range found {
			if strings.Contains(key, own) {
				t.Errorf("%s may be the segment's", key)
			}
		}
		if err != nil || len(g.Unreadable) != 1 || g.Kept.Protected == 0 {
			t.Errorf("%v %+v", err, g.Kept)
		}
	})
	t.Run("metadata gone", func(t *testing.T) {
		m := copyOf(t, base)
		m.Set(all[0], []byte("?"))
		found, g, err := collect(t, m, archive.GarbageOptions{})
		if err != nil || slices.Contains(found, all[0]) || len(found) != len(all)-1 || g.Kept.Unknown != 1 {
			t.Errorf("%v: found %d of %d: %+v", err, len(found), len(all), g.Kept)
		}
	})
	t.Run("one vchannel", func(t *testing.T) {
		found, _, err := collect(t, base, archive.GarbageOptions{VChannel: v.Name})
		if err != nil || len(found) != of(base, v.Name) || len(found) == 0 {
			t.Errorf("%v: found %d of %d", err, len(found), of(base, v.Name))
		}
		if _, err := archive.NewCollector(t.Context(), base, archive.GarbageOptions{VChannel: "none-0"}); err == nil {
			t.Error("a vchannel that is not there has no garbage")
		}
	})
	t.Run("probes", func(t *testing.T) {
		m := copyOf(t, base)
		m.Set("checkpoints/.probe-X", []byte("?"))
		for hours, want := range map[time.Duration]bool{time.Hour: false, 25 * time.Hour: true} {
			found, g, err := collect(t, m, archive.GarbageOptions{Now: time.Now().Add(hours)})
			if err != nil || slices.Contains(found, "checkpoints/.probe-X") != want || (g.Kept.Young == 1) == want {
				t.Errorf("after %s: %v %v", hours, found, err)
			}
		}
	})
}
