package checkpoints_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/membucket"
)

// v0 is the log of all tests.
var v0 = checkpoints.VChannel{Topic: "by-dev-rootcoord-dml_0", Partition: 0, TopicID: "first-topic"}

const collection, partition = int64(100), int64(101)

func at(offset int64) checkpoints.Position {
	return checkpoints.Position{Offset: offset, LeaderEpoch: 3}
}

// life is one claim and its tracker.
type life struct {
	t       *testing.T
	bucket  *membucket.Bucket
	store   *checkpoints.Store
	doc     *checkpoints.Document // as claimed
	names   *checkpoints.Names
	tracker *checkpoints.Tracker
	seq     uint64
}

func begin(t *testing.T, b *membucket.Bucket) *life {
	t.Helper()
	return beginWith(t, b, checkpoints.DefaultOptions())
}

func beginWith(t *testing.T, b *membucket.Bucket, o checkpoints.Options) *life {
	t.Helper()
	store, doc, err := checkpoints.Claim(t.Context(), b, v0, 0)
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	return &life{t: t, bucket: b, store: store, doc: doc, names: store.Names(),
		tracker: checkpoints.NewTracker(store, doc, checkpoints.NewPace(), o)}
}

// ack acknowledges the next cut.
func (l *life) ack(c checkpoints.Change) {
	l.seq++
	l.tracker.Ack(l.seq, c)
}

func (l *life) flush() {
	l.t.Helper()
	if err := l.tracker.Flush(l.t.Context()); err != nil {
		l.t.Fatalf("flush: %v", err)
	}
}

// stored is the document in the bucket.
func (l *life) stored() *checkpoints.Document {
	l.t.Helper()
	return stored(l.t, l.bucket)
}

func stored(t *testing.T, b *membucket.Bucket) *checkpoints.Document {
	t.Helper()
	d, err := checkpoints.Decode(v0.Name(), b.Data(checkpoints.DocumentKey(v0.Name())))
	if err != nil {
		t.Fatalf("stored document: %v", err)
	}
	return d
}

// segment is an assigned segment of rows.
func segment(id, start, end int64) checkpoints.Segment {
	return checkpoints.Segment{ID: id, Collection: collection, Partition: partition, Level: checkpoints.L1,
		Start: at(start), End: at(end), FirstTime: start, LastTime: end, Fields: []int64{0, 1, 100}, PKField: 100}
}

// auto is the same as an auto segment.
func auto(id, start, end int64) checkpoints.Segment {
	s := segment(id, start, end)
	s.Auto = true
	return s
}

// deletes is an auto segment of deletes.
func deletes(id, start, end int64) checkpoints.Segment {
	s := auto(id, start, end)
	s.Level, s.Fields, s.PKField = checkpoints.L0, nil, 0
	return s
}

// rows is a cut with rows of s whose position moves to s's End.
func (l *life) rows(s checkpoints.Segment, n int64) checkpoints.Change {
	return moved(s.End.Offset, &checkpoints.Flush{Segment: s, PartitionName: "_default",
		Log: &checkpoints.Log{ID: l.names.LogID(), Rows: n, Bytes: 100 * n, MinTS: 1, MaxTS: 2}})
}

// last is rows, and no more will come.
func (l *life) last(s checkpoints.Segment, n int64) checkpoints.Change {
	c := l.rows(s, n)
	c.Flush.Sealed = true
	return c
}

// empty seals s without rows.
func empty(s checkpoints.Segment) checkpoints.Change {
	return moved(s.End.Offset, &checkpoints.Flush{Segment: s, Sealed: true})
}

func moved(offset int64, f *checkpoints.Flush) checkpoints.Change {
	return checkpoints.Change{Seek: at(offset), ReadFrom: at(offset), Flush: f}
}

func event(e checkpoints.Event) checkpoints.Change {
	e.Collection = collection
	e.Timestamp = uint64(e.Offset) << 18
	c := moved(checkpoints.After(e.Offset), nil)
	c.Event = &e
	return c
}

func asJSON(v any) string {
	data, err := json.Marshal(v)
	return fmt.Sprint(string(data), err)
}

func wantError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
}

// refuse fails calls whose key begins with prefix.
func refuse(op membucket.Op, prefix string, err error) membucket.Hook {
	return func(_ context.Context, c membucket.Call) error {
		if c.Op == op && len(c.Key) >= len(prefix) && c.Key[:len(prefix)] == prefix {
			return err
		}
		return nil
	}
}
