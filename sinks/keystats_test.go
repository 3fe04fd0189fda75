package sinks_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

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
