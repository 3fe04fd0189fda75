package archive_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
)

// farOff is after every drop.
var farOff = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

// dataOf lists the data files of a collection.
func dataOf(t *testing.T, b checkpoints.Bucket, collection int64) []string {
	t.Helper()
	id := strconv.FormatInt(collection, 10)
	return slices.DeleteFunc(everything(t, b), func(key string) bool {
		parts := strings.Split(key, "/")
		return !strings.HasSuffix(parts[0], "_log") || parts[1] != id
	})
}

func TestAnExpiredCollectionTakesOthersAlongOrComesBack(t *testing.T) {
	m, broker, want := killed(t, 3)
	life(t, broker, m, 0, false)
	before := everything(t, m)
	old := archive.GarbageOptions{ExpireAfter: time.Hour, Now: farOff}
	found, g, err := collect(t, m, old)
	if err != nil || len(g.Expired) == 0 || !slices.Equal(before, everything(t, m)) {
		t.Fatalf("%v: %d collections expire, and a dry run changed something", err, len(g.Expired))
	}
	var gone []string
	for _, e := range g.Expired {
		gone = append(gone, dataOf(t, m, e.Collection)...)
		if e.Dropped == 0 || e.Created == 0 || e.Name == "" {
			t.Errorf("the moments that are lost are not named: %+v", e)
		}
	}
	for _, key := range gone {
		if !slices.Contains(found, key) {
			t.Errorf("%s stays", key)
		}
	}
	old.Remove = &remover{m, len(gone) / 2}
	if _, _, err := collect(t, m, old); !errors.Is(err, errStopped) {
		t.Fatal(err)
	}
	// Whoever looks in the middle takes nothing for damage.
	if report := check(t, m, want, archive.CheckOptions{}); report.Err() != nil || report.Removed == 0 || report.Expired == 0 {
		t.Errorf("in the middle: %s", report)
	}
	// What was begun ends with the next run, asked for or not.
	if _, _, err := collect(t, m, archive.GarbageOptions{Remove: &remover{m, 1 << 30}}); err != nil {
		t.Fatal(err)
	}
	left := slices.DeleteFunc(everything(t, m), func(key string) bool { return strings.HasPrefix(key, "expired/") })
	if !slices.Equal(left, slices.DeleteFunc(before, func(key string) bool { return slices.Contains(found, key) })) {
		t.Error("other objects were removed than those that were found")
	}
	lives, err := open(t, m).CollectionLives(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lives {
		isExpired := slices.ContainsFunc(g.Expired, func(e archive.Expired) bool { return e.Collection == l.ID })
		if l.Expired != isExpired || isExpired && l.Last != 0 {
			t.Errorf("%+v", l)
		}
		_, err := open(t, m).Live(t.Context(), archive.LiveOptions{Collection: strconv.FormatInt(l.ID, 10), Until: max(l.Created, 1)})
		if isExpired && !errors.Is(err, archive.ErrNoCollection) {
			t.Errorf("rows of %d are brought back from what is left: %v", l.ID, err)
		}
	}
	rewound(t, m)
	life(t, broker, m, 0, false)
	if report := check(t, m, want, archive.CheckOptions{}); report.Err() != nil {
		t.Errorf("after all was read again: %s", report)
	}
	for _, e := range g.Expired {
		if keys := dataOf(t, m, e.Collection); len(keys) > 0 {
			t.Errorf("%d objects of collection %d came back, one is %s", len(keys), e.Collection, keys[0])
		}
	}
}

func store(t *testing.T, m *membucket.Bucket, d *checkpoints.Document) {
	t.Helper()
	data, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	m.Set(checkpoints.DocumentKey(d.VChannel), data)
}

// rewound lets every vchannel begin anew.
func rewound(t *testing.T, m *membucket.Bucket) {
	t.Helper()
	for _, v := range open(t, m).VChannels() {
		i := strings.LastIndexByte(v.Name, '-')
		partition, err := strconv.Atoi(v.Name[i+1:])
		if err != nil {
			t.Fatal(err)
		}
		at := checkpoints.VChannel{Topic: v.Name[:i], Partition: int32(partition), TopicID: v.Doc.TopicID}
		if _, err := checkpoints.Rewind(t.Context(), m, at, checkpoints.Position{LeaderEpoch: -1}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestACollectionExpiresBeforeItsDropIsBehindEveryVChannel(t *testing.T) {
	m, broker, _ := killed(t, 3)
	life(t, broker, m, 0, false)
	dropped := func() []archive.Expired {
		t.Helper()
		_, g, err := collect(t, m, archive.GarbageOptions{ExpireAfter: time.Hour, Now: farOff})
		if err != nil {
			t.Fatal(err)
		}
		return g.Expired
	}
	all := dropped()
	if len(all) == 0 {
		t.Fatal("nothing was dropped")
	}
	at := time.UnixMilli(int64(all[0].Dropped >> 18))
	_, g, err := collect(t, m, archive.GarbageOptions{ExpireAfter: time.Hour, Now: at.Add(time.Hour - time.Millisecond)})
	if err != nil || slices.ContainsFunc(g.Expired, func(e archive.Expired) bool { return e.Collection == all[0].Collection }) {
		t.Errorf("%v: expired a millisecond early", err)
	}
	// A segment that is still in a document has no manifest yet, or no statistics.
	for _, v := range open(t, m).VChannels() {
		if v.Doc.Collections[all[0].Collection] == nil {
			continue
		}
		before := *v.Doc
		v.Doc.Segments = map[int64]*checkpoints.Segment{9999: {
			ID: 9999, Collection: all[0].Collection, Partition: 1, Level: checkpoints.L1, State: checkpoints.Dropped,
		}}
		store(t, m, v.Doc)
		if slices.ContainsFunc(dropped(), func(e archive.Expired) bool { return e.Collection == all[0].Collection }) {
			t.Errorf("collection %d expires while the document of %s has a segment of it", all[0].Collection, v.Name)
		}
		store(t, m, &before)
	}
	// Whoever reads the drop again has its segments in the document perhaps.
	rewound(t, m)
	if early := dropped(); len(early) > 0 {
		t.Errorf("%d collections expire although their drops are read again", len(early))
	}
	if _, err := archive.NewCollector(t.Context(), m, archive.GarbageOptions{ExpireAfter: time.Hour, VChannel: "by-dev-rootcoord-dml_0-0"}); err == nil {
		t.Error("a collection expires in one vchannel")
	}
}

// A row that is read again after a rewind is dropped by manifests and chunks,
// whose segments have no data any more.
func TestChunksOfAnExpiredCollectionAreTakenForItsData(t *testing.T) {
	m, broker, _ := killed(t, 3)
	life(t, broker, m, 0, false)
	o := archive.GarbageOptions{ExpireAfter: time.Hour, Now: farOff}
	_, g, err := collect(t, m, o)
	if err != nil || len(g.Expired) == 0 {
		t.Fatal(err, "nothing expires")
	}
	chunk := checkpoints.ChunkKey(g.Expired[0].Collection, 1, 2, "100000100000000001")
	m.Set(chunk, []byte("{}"))
	o.Remove = &remover{m, 1 << 30}
	if _, _, err := collect(t, m, o); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(everything(t, m), chunk) {
		t.Errorf("%s was removed", chunk)
	}
}

// A vchannel that had not come to the collection when it was marked reads it
// later: without the files that its document names the flow would die again
// and again.
func TestFilesOfAnExpiredCollectionAreTakenFromAVChannelThatStillReadsIt(t *testing.T) {
	m, broker, _ := killed(t, 3)
	life(t, broker, m, 0, false)
	if _, _, err := collect(t, m, archive.GarbageOptions{Remove: &remover{m, 1 << 30}}); err != nil {
		t.Fatal(err)
	}
	_, g, err := collect(t, m, archive.GarbageOptions{ExpireAfter: time.Hour, Now: farOff, Remove: &remover{m, 0}})
	if !errors.Is(err, errStopped) || len(g.Expired) == 0 {
		t.Fatalf("%v: %d collections are marked", err, len(g.Expired))
	}
	id := g.Expired[0].Collection
	before := dataOf(t, m, id)
	rewound(t, m)
	if _, _, err := collect(t, m, archive.GarbageOptions{Remove: &remover{m, 1 << 30}}); err != nil {
		t.Fatal(err)
	}
	if now := dataOf(t, m, id); len(before) == 0 || len(now) < len(before) {
		t.Errorf("%d of %d files were removed before every vchannel has passed the drop", len(before)-len(now), len(before))
	}
	life(t, broker, m, 0, false)
	if _, _, err := collect(t, m, archive.GarbageOptions{Remove: &remover{m, 1 << 30}}); err != nil {
		t.Fatal(err)
	}
	if now := dataOf(t, m, id); len(now) > 0 {
		t.Errorf("%d files stay for ever", len(now))
	}
}

// unmarkable refuses marks, and shows who would wait for ever for one.
type unmarkable struct{ *membucket.Bucket }

func (u unmarkable) Put(ctx context.Context, key string, o checkpoints.Object, c checkpoints.Condition) (checkpoints.Info, error) {
	switch {
	case !strings.HasPrefix(key, "expired/"):
		return u.Bucket.Put(ctx, key, o, c)
	case c.Refusals == 0:
		return checkpoints.Info{}, errors.New("this waits for ever")
	}
	return checkpoints.Info{}, checkpoints.ErrRefused
}

func TestACollectionThatMayNotBeMarkedIsRemovedOrWaitedForForEver(t *testing.T) {
	m, broker, _ := killed(t, 3)
	life(t, broker, m, 0, false)
	before := everything(t, m)
	o := archive.GarbageOptions{ExpireAfter: time.Hour, Now: farOff, Remove: &remover{m, 1 << 30}}
	if _, err := archive.NewCollector(t.Context(), unmarkable{m}, o); !errors.Is(err, checkpoints.ErrRefused) {
		t.Errorf("the refusal is not told: %v", err)
	}
	if !slices.Equal(before, everything(t, m)) {
		t.Error("something was removed without a mark")
	}
}

// Two collections of garbage may mark at once, the other one in the words of
// another release. What is no such mark was put by somebody who does not know
// what it does.
func TestAMarkOfAnotherHandEndsOrIsBelieved(t *testing.T) {
	m, broker, _ := killed(t, 3)
	life(t, broker, m, 0, false)
	_, g, err := collect(t, m, archive.GarbageOptions{ExpireAfter: time.Hour, Now: farOff})
	if err != nil || len(g.Expired) == 0 {
		t.Fatal(err, "nothing expires")
	}
	id := strconv.FormatInt(g.Expired[0].Collection, 10)
	key := "expired/" + id + ".json"
	for _, c := range []struct {
		stored string
		fails  bool
	}{
		{`{"collection":1` + id + `,"dropped":7}`, true}, // of another collection
		{`{}`, true},
		{"", true},
		{`{"collection":` + id + `,"dropped":7,"more":"of a newer release"}`, false},
	} {
		before := everything(t, m)
		m.Before(func(_ context.Context, call membucket.Call) error {
			if call.Op == membucket.Put && call.Key == key {
				m.Set(key, []byte(c.stored)) // between the look and the mark
			}
			return nil
		})
		o := archive.GarbageOptions{ExpireAfter: time.Hour, Now: farOff, Remove: &remover{m, 1 << 30}}
		_, err := archive.NewCollector(t.Context(), m, o)
		m.Before(nil)
		if err == nil {
			_, _, err = collect(t, m, o)
		}
		if errors.Is(err, checkpoints.ErrConflict) != c.fails || !c.fails && err != nil {
			t.Errorf("%q: got %v", c.stored, err)
		}
		if string(m.Data(key)) != c.stored {
			t.Errorf("%q was replaced by %q", c.stored, m.Data(key))
		}
		if left := len(dataOf(t, m, g.Expired[0].Collection)); (left > 0) != c.fails {
			t.Errorf("%q: %d files of the collection are left", c.stored, left)
		}
		if m.Remove(key); c.fails && !slices.Equal(before, slices.DeleteFunc(everything(t, m), func(k string) bool { return strings.HasPrefix(k, "expired/") })) {
			t.Errorf("%q: something was removed", c.stored)
		}
	}
}
