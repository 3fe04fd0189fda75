package sinks_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/checkpoints"
	"flowgraph/internal/membucket"
	"flowgraph/sinks"
	"flowgraph/sinks/binlog"
	"flowgraph/stages"
	"flowgraph/stages/column"
)

const keyField, segmentID = int64(100), int64(7)

var keyFields = []column.Field{
	{ID: column.RowID, Type: schemapb.DataType_Int64},
	{ID: column.Timestamp, Type: schemapb.DataType_Int64},
	{ID: keyField, Type: schemapb.DataType_VarChar, PrimaryKey: true},
}

// keyLife is one claim with a sink and a tracker.
type keyLife struct {
	t       *testing.T
	bucket  *membucket.Bucket
	store   *checkpoints.Store
	shared  *sinks.Shared
	tracker *checkpoints.Tracker
	sink    *sinks.Sink
	seq     uint64
	fail    context.CancelCauseFunc
	ctx     context.Context

	mu      sync.Mutex
	acked   []uint64
	reports []sinks.Report
}

func beginLife(t *testing.T, b *membucket.Bucket, edit func(*checkpoints.Options)) *keyLife {
	t.Helper()
	store, doc, err := checkpoints.Claim(t.Context(), b, checkpoints.VChannel{Topic: "t", TopicID: "id"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	l := &keyLife{t: t, bucket: b, store: store, shared: sinks.NewShared(b, &column.Pool{}, 2, 2)}
	o := checkpoints.DefaultOptions()
	o.Compound = l.shared.Compound
	if edit != nil {
		edit(&o)
	}
	l.tracker = checkpoints.NewTracker(store, doc, checkpoints.NewPace(), o)
	l.ctx, l.fail = context.WithCancelCause(t.Context())
	l.sink = sinks.NewSink(l.ctx, l.shared, sinks.Config{
		VChannel: store.VChannel(), Meta: store.Meta(), Fail: l.fail,
		Ack: func(seq uint64, c checkpoints.Change) {
			l.mu.Lock()
			l.acked = append(l.acked, seq)
			l.mu.Unlock()
			l.tracker.Ack(seq, c)
		},
		Done: func(r sinks.Report) {
			l.mu.Lock()
			l.reports = append(l.reports, r)
			l.mu.Unlock()
		},
	})
	return l
}

// flush sends a cut of the segment with these keys.
func (l *keyLife) flush(pkField int64, sealed bool, keys ...string) *stages.Cut {
	l.seq++
	end := checkpoints.Position{Offset: int64(l.seq)}
	c := &stages.Cut{Seq: l.seq, LogID: l.store.Names().LogID(), Change: checkpoints.Change{Seek: end, ReadFrom: end}}
	for _, f := range keyFields {
		c.Columns = append(c.Columns, column.New(f))
	}
	for i, key := range keys {
		c.Columns[0].AppendInt64(l.shared.Pool, int64(i), 1)
		c.Columns[1].AppendInt64(l.shared.Pool, 5, 1)
		c.Columns[2].AppendBytes(l.shared.Pool, []byte(key))
	}
	c.Change.Flush = &checkpoints.Flush{
		Segment: checkpoints.Segment{ID: segmentID, Collection: 1, Partition: 2, Level: checkpoints.L1,
			Start: checkpoints.Position{}, End: end, Fields: []int64{0, 1, keyField}, PKField: pkField},
		Log:    &checkpoints.Log{ID: c.LogID, Rows: int64(len(keys)), MinTS: 5, MaxTS: 5},
		Sealed: sealed,
	}
	l.sink.In() <- c
	return c
}

// end closes the sink and commits.
func (l *keyLife) end() error {
	close(l.sink.In())
	l.sink.AwaitCompletion()
	if err := context.Cause(l.ctx); err != nil {
		return err
	}
	return l.tracker.Flush(l.t.Context())
}

const compoundKey = "stats_log/1/2/7/100/1"

func TestAFlushStoresTheStatisticsOfItsKeys(t *testing.T) {
	for kind := range 2 {
		b := membucket.New()
		l := beginLife(t, b, nil)
		l.shared.Filter = binlog.FilterKind(kind)
		cut := l.flush(keyField, false, "b", "a", "c")
		if err := l.end(); err != nil {
			t.Fatal(err)
		}
		var size int64
		keys := cut.Change.Flush.Segment.DataKeys(cut.LogID)
		for _, key := range keys {
			size += int64(len(b.Data(key)))
		}
		if r := l.reports[0]; len(keys) != 4 || r.Objects != 4 || r.Bytes != size || cut.Change.Flush.Log.Bytes != size || len(b.Keys("stats_log/")) != 1 {
			t.Errorf("%+v, %d bytes stored under %v", r, size, keys)
		}
		stats, err := binlog.ReadKeyStats(b.Data(keys[3]))
		if err != nil || len(stats) != 1 || stats[0].Field != keyField || stats[0].Kind != binlog.FilterKind(kind) || string(stats[0].Max) != "c" {
			t.Fatalf("%+v, %v", stats, err)
		}
		for _, key := range []string{"a", "b", "c"} {
			if !stats[0].MayHold([]byte(key)) {
				t.Errorf("%q is missing", key)
			}
		}
		if info, err := b.Stat(t.Context(), keys[3]); err != nil || info.Meta[checkpoints.MetaEpoch] != "1" {
			t.Errorf("%+v, %v", info, err)
		}
	}
}

// A document that refers to statistics which are not there sends every reader
// of the segment into an error.
func TestAFlushWhoseStatisticsAreNotStoredIsNotAcked(t *testing.T) {
	b := membucket.New()
	refused := errors.New("refused")
	b.Before(func(_ context.Context, c membucket.Call) error {
		if c.Op == membucket.Put && strings.HasPrefix(c.Key, "stats_log/") {
			return refused
		}
		return nil
	})
	l := beginLife(t, b, nil)
	l.flush(keyField, false, "a")
	if err := l.end(); !errors.Is(err, refused) || len(l.acked) > 0 || len(l.reports) != 1 {
		t.Errorf("acked %v, %d reports, %v", l.acked, len(l.reports), err)
	}
}

// Segments that began before there were statistics go on without.
func TestASegmentWithoutStatisticsStaysSo(t *testing.T) {
	b := membucket.New()
	l := beginLife(t, b, nil)
	l.flush(0, false, "a")
	l.flush(0, true, "b")
	if err := l.end(); err != nil {
		t.Fatal(err)
	}
	if keys := b.Keys("stats_log/"); len(keys) > 0 || len(b.Keys("segments/")) != 1 {
		t.Errorf("%v", b.Keys(""))
	}
}

// Between the commit that seals and the manifest the process may die as often
// as it likes, and an older owner may still be writing.
func TestCompoundStatisticsAreTheSameWhoeverWritesThem(t *testing.T) {
	b := membucket.New()
	died := errors.New("died")
	b.Before(func(_ context.Context, c membucket.Call) error {
		if c.Op == membucket.Put && c.Key == compoundKey {
			return died
		}
		return nil
	})
	first := beginLife(t, b, nil)
	first.flush(keyField, false, "b", "a")
	first.flush(keyField, false, "c")
	first.flush(keyField, true, "d")
	if err := first.end(); !errors.Is(err, died) || len(b.Keys("segments/")) > 0 {
		t.Fatalf("%v, keys %v", err, b.Keys(""))
	}
	var lost []byte
	for _, c := range b.Calls(membucket.Put, compoundKey) {
		if c.Key == compoundKey {
			lost = c.Data
		}
	}
	b.Before(nil)
	second := beginLife(t, b, nil)
	second.shared.Filter = binlog.BasicFilter // a configuration of its own changes nothing
	if err := second.end(); err != nil {
		t.Fatal(err)
	}
	stored := b.Data(compoundKey)
	if !bytes.Equal(stored, lost) || len(b.Keys("segments/")) != 1 {
		t.Errorf("stored\n%s\nthe first life sent\n%s", stored, lost)
	}
	stats, err := binlog.ReadKeyStats(stored)
	if err != nil || len(stats) != 3 || string(stats[0].Max)+string(stats[1].Max)+string(stats[2].Max) != "bcd" {
		t.Errorf("%+v, %v", stats, err)
	}
	m, err := checkpoints.LoadManifest(t.Context(), b, checkpoints.SegmentRef{Collection: 1, Partition: 2, Segment: segmentID})
	if err != nil || m.CompoundKey() != compoundKey || m.PKField != keyField {
		t.Fatalf("%+v, %v", m, err)
	}
	if err := first.shared.Compound(t.Context(), &m.Segment, first.store.Meta()); err != nil {
		t.Errorf("the first owner, late: %v", err)
	}
}

func TestCompoundStatisticsHoldFoldedFlushesInOrder(t *testing.T) {
	b := membucket.New()
	l := beginLife(t, b, func(o *checkpoints.Options) { o.FoldAbove = 1 })
	for i := range 20 {
		l.flush(keyField, false, string(rune('a'+i)))
	}
	if err := l.end(); err != nil {
		t.Fatal(err)
	}
	if len(b.Keys("segments/")) == 0 {
		t.Error("nothing was folded")
	}
	last := beginLife(t, b, nil)
	last.flush(keyField, true, "z")
	if err := last.end(); err != nil {
		t.Fatal(err)
	}
	stats, err := binlog.ReadKeyStats(b.Data(compoundKey))
	var keys []string
	for i := range stats {
		keys = append(keys, string(stats[i].Max))
	}
	if err != nil || len(keys) != 21 || !slices.IsSorted(keys) {
		t.Errorf("%v, %v", keys, err)
	}
}

// What is damaged or of another field would be read instead of the originals.
func TestCompoundStatisticsAreNotMadeOfDamagedOnes(t *testing.T) {
	b := membucket.New()
	died := errors.New("died")
	l := beginLife(t, b, func(o *checkpoints.Options) {
		o.Compound = func(context.Context, *checkpoints.Segment, map[string]string) error { return died }
	})
	cut := l.flush(keyField, true, "a")
	if err := l.end(); !errors.Is(err, died) {
		t.Fatal(err)
	}
	doc, _, err := checkpoints.Load(t.Context(), b, "t-0")
	if err != nil {
		t.Fatal(err)
	}
	key := checkpoints.StatsLogKey(1, 2, segmentID, keyField, cut.LogID)
	whole := string(b.Data(key))
	for name, c := range map[string]struct {
		data string
		want error
	}{
		"missing": {"", checkpoints.ErrNotExist}, "truncated": {whole[:50], binlog.ErrCorrupt}, "two": {"[" + whole + "," + whole + "]", binlog.ErrCorrupt},
		"one in a list": {"[" + whole + "]", binlog.ErrCorrupt}, "other field": {strings.Replace(whole, "100", "101", 1), binlog.ErrCorrupt},
	} {
		b.Set(key, []byte(c.data))
		if c.data == "" {
			b.Remove(key)
		}
		err := sinks.PutCompound(t.Context(), b, doc.Segments[segmentID], nil)
		if !errors.Is(err, c.want) || b.Data(compoundKey) != nil {
			t.Errorf("%s: %v, stored %s", name, err, b.Data(compoundKey))
		}
	}
}

// All segments of a worker may be sealed at once.
func TestCompoundStatisticsOfManyKeysWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membucket.New()
		release := make(chan struct{})
		b.Before(func(ctx context.Context, c membucket.Call) error {
			<-release
			return nil
		})
		shared := sinks.NewShared(b, &column.Pool{}, 1, 1)
		var ended sync.WaitGroup
		for id := range int64(3) {
			s := checkpoints.Segment{ID: id + 1, Collection: 1, Partition: 2, Level: checkpoints.L1, State: checkpoints.Flushed, PKField: keyField,
				Rows: 100_000_000, Logs: []checkpoints.Log{{ID: "100000010000000001", Rows: 100_000_000}}}
			ended.Go(func() {
				if err := shared.Compound(t.Context(), &s, nil); !errors.Is(err, checkpoints.ErrNotExist) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if n := len(b.Calls(membucket.Get, "stats_log/")); n != 1 {
			t.Errorf("%d are read at a time", n)
		}
		close(release)
		ended.Wait()
		if n := len(b.Calls(membucket.Get, "stats_log/")); n != 3 {
			t.Errorf("%d were read", n)
		}
	})
}
