package sinks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"go.uber.org/goleak"

	"flowgraph/checkpoints"
	"flowgraph/internal/membucket"
	"flowgraph/stages"
	"flowgraph/stages/column"
	"flowgraph/stages/wire"
)

// basin is a sink over a bucket in memory, and what came back from it.
type basin struct {
	*Sink
	t      *testing.T
	bucket *membucket.Bucket
	shared *Shared
	ctx    context.Context
	kill   context.CancelCauseFunc

	mu    sync.Mutex
	acked []uint64
	done  []uint64
}

func newBasin(t *testing.T, flushes int) *basin {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	bucket := membucket.New()
	b := &basin{t: t, bucket: bucket, shared: NewShared(bucket, &column.Pool{}, 2, flushes)}
	b.ctx, b.kill = context.WithCancelCause(t.Context())
	b.Sink = b.sink()
	return b
}

func (b *basin) sink() *Sink {
	v := checkpoints.VChannel{Topic: "t", Partition: 0, TopicID: "id"}
	return NewSink(b.ctx, b.shared, Config{
		VChannel: v, Meta: checkpoints.Meta(v.Name(), 1), Fail: b.kill,
		Ack: func(seq uint64, _ checkpoints.Change) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.acked = append(b.acked, seq)
		},
		Done: func(r Report) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.done = append(b.done, r.Cut.Seq)
		},
	})
}

// end closes the input and returns what was acknowledged and why the flow died.
func (b *basin) end() (acked []uint64, cause error) {
	close(b.In())
	b.AwaitCompletion()
	cause = context.Cause(b.ctx)
	b.kill(nil)
	return b.acked, cause
}

// rows is a cut of five columns.
func (b *basin) rows(seq uint64) *stages.Cut {
	fields := []column.Field{
		{ID: column.RowID, Name: "RowID", Type: schemapb.DataType_Int64},
		{ID: column.Timestamp, Name: "Timestamp", Type: schemapb.DataType_Int64},
		{ID: 100, Name: "pk", Type: schemapb.DataType_Int64},
		{ID: 101, Name: "a", Type: schemapb.DataType_Int64},
		{ID: 102, Name: "b", Type: schemapb.DataType_Int64},
	}
	cut := &stages.Cut{Seq: seq, LogID: fmt.Sprintf("1%017d", seq)}
	for _, f := range fields {
		c := column.New(f)
		if _, err := c.AppendVarints(b.shared.Pool, []byte{1}); err != nil {
			b.t.Fatal(err)
		}
		cut.Columns = append(cut.Columns, c)
	}
	cut.Change.Flush = &checkpoints.Flush{
		Segment: checkpoints.Segment{ID: 7, Collection: 100, Partition: 101, Level: checkpoints.L1},
		Log:     &checkpoints.Log{ID: cut.LogID, Rows: 1, MinTS: 1, MaxTS: 1},
	}
	return cut
}

// A document must never name a file that is not there.
func TestACutIsAcknowledgedOnlyWhenAllItsFilesAreStored(t *testing.T) {
	b := newBasin(t, 2)
	fault := errors.New("storage full")
	fourth := checkpoints.InsertLogKey(100, 101, 7, 101, fmt.Sprintf("1%017d", 1))
	b.bucket.Before(func(_ context.Context, c membucket.Call) error {
		if c.Key == fourth {
			return fault
		}
		return nil
	})
	b.In() <- b.rows(1)
	acked, cause := b.end()
	if len(acked) > 0 {
		t.Errorf("acknowledged: %v", acked)
	}
	if !errors.Is(cause, fault) || !strings.Contains(cause.Error(), fourth) {
		t.Errorf("the flow died of %v", cause)
	}
}

func TestACompleteCutIsAcknowledgedAfterItsFiles(t *testing.T) {
	b := newBasin(t, 2)
	b.In() <- b.rows(1)
	acked, cause := b.end()
	if !slices.Equal(acked, []uint64{1}) || cause != nil {
		t.Errorf("acknowledged: %v, cause %v", acked, cause)
	}
	if keys := b.bucket.Keys("insert_log/"); len(keys) != 5 {
		t.Errorf("stored: %q", keys)
	}
	for _, c := range b.bucket.Calls(membucket.Put, "") {
		if c.Condition != (checkpoints.Condition{}) {
			t.Errorf("%s was put under %+v", c.Key, c.Condition)
		}
	}
}

// The kill comes while some files are stored and others not even encoded:
// that no put failed does not mean that all were made.
func TestAFlushCutShortByAKillIsNotAcknowledged(t *testing.T) {
	for range 500 { // the moment is a matter of chance
		b := newBasin(t, 2)
		b.bucket.After(func(context.Context, membucket.Call) error {
			b.kill(errors.New("killed"))
			return nil
		})
		b.In() <- b.rows(1)
		acked, _ := b.end()
		if all := len(b.bucket.Keys("")) == 5; len(acked) > 0 && !all {
			t.Errorf("acknowledged with the files %q", b.bucket.Keys(""))
		}
		if len(b.done) != 1 {
			t.Errorf("its memory was given back %d times", len(b.done))
		}
	}
}

func TestAnotherObjectUnderTheKeyEndsTheFlowAndIsNamed(t *testing.T) {
	b := newBasin(t, 2)
	key := checkpoints.InsertLogKey(100, 101, 7, 100, fmt.Sprintf("1%017d", 1))
	b.bucket.Set(key, []byte("another"))
	b.In() <- b.rows(1)
	acked, cause := b.end()
	if len(acked) > 0 || !errors.Is(cause, checkpoints.ErrConflict) || !strings.Contains(cause.Error(), key) {
		t.Errorf("acknowledged: %v, cause %v", acked, cause)
	}
	if data := b.bucket.Data(key); string(data) != "another" {
		t.Errorf("it was overwritten: %q", data)
	}
}

// bad is a cut that only carries a bad record.
func bad(seq uint64) *stages.Cut {
	return &stages.Cut{Seq: seq, Bad: []stages.BadRecord{{Reason: "because", Record: stages.Record{
		Offset: 42, Time: 1000, Value: []byte{0xff}, Headers: []wire.Header{{Key: "h", Value: []byte("v")}},
	}}}}
}

func TestABadRecordIsStoredBeforeItsCutIsAcknowledged(t *testing.T) {
	b := newBasin(t, 2)
	fault := errors.New("denied")
	b.bucket.Before(func(context.Context, membucket.Call) error { return fault })
	b.In() <- bad(1)
	if acked, cause := b.end(); len(acked) > 0 || !errors.Is(cause, fault) {
		t.Errorf("acknowledged: %v, cause %v", acked, cause)
	}
}

// What an earlier life stored of a bad record stays, in whatever words.
func TestABadRecordThatIsStoredAlreadyIsDone(t *testing.T) {
	b := newBasin(t, 2)
	key := checkpoints.QuarantineKey("t-0", "id", 42)
	b.In() <- bad(1)
	b.await(key)
	b.bucket.Set(key, []byte("other words"))
	b.In() <- bad(2)
	if acked, cause := b.end(); len(acked) != 2 || cause != nil {
		t.Errorf("acknowledged: %v, cause %v", acked, cause)
	}
}

// await returns once an object is there.
func (b *basin) await(key string) {
	for b.bucket.Data(key) == nil {
		select {
		case <-b.t.Context().Done():
			b.t.Fatal(key, "was not stored")
		default:
		}
	}
}

func TestABadRecordIsKeptRaw(t *testing.T) {
	b := newBasin(t, 2)
	b.In() <- bad(1)
	b.end()
	var q struct {
		Offset, Timestamp int64
		Key, Value        []byte
		Headers           [][2]any
		Reason            string
	}
	if err := json.Unmarshal(b.bucket.Data(checkpoints.QuarantineKey("t-0", "id", 42)), &q); err != nil {
		t.Fatal(err)
	}
	if q.Offset != 42 || q.Timestamp != 1000 || q.Key != nil || string(q.Value) != "\xff" || q.Reason != "because" ||
		fmt.Sprint(q.Headers) != "[[h dg==]]" {
		t.Errorf("kept: %+v", q)
	}
}

// A vchannel whose prefix is denied holds as many flushes as it may; another
// one still has its own.
func TestAFlowThatWaitsForTheStoreCannotHoldAllFlushes(t *testing.T) {
	b := newBasin(t, 1)
	b.bucket.Before(func(ctx context.Context, c membucket.Call) error {
		if strings.HasSuffix(c.Key, "1") || strings.HasSuffix(c.Key, "2") {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return nil
	})
	b.In() <- b.rows(1)
	b.In() <- b.rows(2)
	other := &basin{t: t, bucket: b.bucket, shared: b.shared}
	other.ctx, other.kill = context.WithCancelCause(t.Context())
	other.Sink = other.sink()
	other.In() <- other.rows(3)
	if acked, cause := other.end(); !slices.Equal(acked, []uint64{3}) {
		t.Errorf("acknowledged: %v, cause %v", acked, cause)
	}
	b.kill(errors.New("killed"))
	b.end()
}

// A sink drains its input whatever happened, or the stages before it hang.
func TestADeadSinkStillDrainsItsInput(t *testing.T) {
	b := newBasin(t, 1)
	b.kill(errors.New("killed"))
	for seq := range uint64(20) {
		b.In() <- b.rows(seq + 1)
		b.In() <- &stages.Cut{Seq: 100 + seq}
	}
	acked, _ := b.end()
	if len(acked) > 0 || len(b.done) != 40 {
		t.Errorf("acknowledged: %v, %d of 40 given back", acked, len(b.done))
	}
}

// What was sealed goes without rows; what only moves the position too.
func TestCutsWithoutFilesAreAcknowledgedAtOnce(t *testing.T) {
	b := newBasin(t, 1)
	seal := &stages.Cut{Seq: 1}
	seal.Change.Flush = &checkpoints.Flush{Segment: checkpoints.Segment{ID: 7}, Sealed: true}
	b.In() <- seal
	b.In() <- &stages.Cut{Seq: 2}
	if acked, cause := b.end(); !slices.Equal(acked, []uint64{1, 2}) || cause != nil {
		t.Errorf("acknowledged: %v, cause %v", acked, cause)
	}
}
