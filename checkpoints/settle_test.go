package checkpoints_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"flowgraph/checkpoints"
	"flowgraph/internal/membucket"
)

var manifest1 = checkpoints.ManifestKey(collection, partition, 1)

func lookup(t *testing.T, b checkpoints.Bucket, v checkpoints.VChannel, segment int64) checkpoints.Known {
	t.Helper()
	known, err := checkpoints.LookupSegments(t.Context(), b, &checkpoints.Document{VChannel: v.Name(), TopicID: v.TopicID},
		[]checkpoints.SegmentRef{{Collection: collection, Partition: partition, Segment: segment}})
	if err != nil {
		t.Fatal(err)
	}
	return known[segment]
}

func TestASegmentThatLeftTheDocumentIsStillFlushed(t *testing.T) {
	b := membucket.New()
	l := begin(t, b)
	l.ack(l.last(segment(1, 0, 4), 2))
	l.ack(empty(segment(2, 4, 5))) // its later rows went elsewhere
	l.ack(moved(9, nil))
	l.flush()
	if d := l.stored(); len(d.Segments) != 0 || d.Seek.Offset != 9 {
		t.Fatalf("a finished run leaves %s", asJSON(d))
	}
	for id, end := range map[int64]int64{1: 4, 2: 5} {
		if k := lookup(t, b, v0, id); k.State != checkpoints.Flushed || k.End.Offset != end {
			t.Errorf("segment %d: %+v", id, k)
		}
	}
	if k := lookup(t, b, v0, 3); k.State != checkpoints.New {
		t.Errorf("a segment never met: %+v", k)
	}
	for _, other := range []checkpoints.VChannel{
		{Topic: v0.Topic, Partition: 0, TopicID: "second-topic"}, {Topic: v0.Topic, Partition: 1, TopicID: v0.TopicID},
	} {
		if k := lookup(t, b, other, 1); k.State != checkpoints.Flushed || k.End.Offset != 0 {
			t.Errorf("the segment of another log: %+v", k)
		}
	}
}

func TestNoAnswerIsNotANewSegment(t *testing.T) {
	b := membucket.New()
	b.Before(refuse(membucket.Get, "segments/", checkpoints.ErrRefused))
	_, err := checkpoints.LookupSegments(t.Context(), b, &checkpoints.Document{VChannel: v0.Name(), TopicID: v0.TopicID}, []checkpoints.SegmentRef{{Segment: 1}, {Segment: 2}})
	wantError(t, err, checkpoints.ErrRefused)
	b.Before(nil)
	b.Set(checkpoints.ManifestKey(0, 0, 1), []byte(`{"version":1`))
	_, err = checkpoints.LookupSegments(t.Context(), b, &checkpoints.Document{VChannel: v0.Name(), TopicID: v0.TopicID}, []checkpoints.SegmentRef{{Segment: 1}})
	wantError(t, err, checkpoints.ErrInvalid)
}

func TestAManifestIsWrittenOnlyForWhatIsCommitted(t *testing.T) {
	b := membucket.New()
	zombie := begin(t, b)
	zombie.ack(zombie.last(segment(1, 0, 1), 1))
	owner := begin(t, b)
	wantError(t, zombie.tracker.Flush(t.Context()), checkpoints.ErrFenced)
	if k := b.Keys("segments/"); len(k) > 0 {
		t.Fatalf("the zombie wrote %v", k)
	}
	owner.ack(owner.last(segment(1, 0, 1), 1))
	b.Before(func(_ context.Context, c membucket.Call) error {
		if c.Key == manifest1 && stored(t, b).Segments[1].State != checkpoints.Flushed {
			t.Error("the manifest came before the commit")
		}
		return nil
	})
	owner.flush()
	b.Before(nil)
	if b.Data(manifest1) == nil || owner.stored().Segments[1] != nil {
		t.Errorf("keys %v, document %s", b.Keys(""), asJSON(owner.stored()))
	}
}

func TestWhatIsAckedDuringACommitIsNotTakenForCommitted(t *testing.T) {
	b := membucket.New()
	l := begin(t, b)
	l.ack(l.rows(segment(1, 0, 1), 1))
	acked := false
	b.Before(func(_ context.Context, c membucket.Call) error {
		d := stored(t, b)
		switch {
		case c.Op == membucket.Put && c.Key == checkpoints.DocumentKey(v0.Name()) && !acked:
			acked = true
			l.ack(l.last(segment(1, 0, 2), 1))
			l.ack(event(checkpoints.Event{Kind: checkpoints.AlterCollection, Offset: 2, Schema: []byte("v2")}))
		case c.Op == membucket.Put && c.Key == manifest1 && d.Segments[1].State != checkpoints.Flushed:
			t.Errorf("a manifest over %s", asJSON(d))
		case c.Op == membucket.Put && strings.HasPrefix(c.Key, "ddl/") && len(d.Events) == 0:
			t.Errorf("an event over %s", asJSON(d))
		}
		return nil
	})
	l.flush()
	l.ack(moved(9, nil))
	l.flush()
	b.Before(nil)
	if d := l.stored(); !acked || len(d.Segments)+len(d.Events) > 0 || len(b.Keys("ddl/")) != 1 || b.Data(manifest1) == nil {
		t.Errorf("keys %v, document %s", b.Keys(""), asJSON(d))
	}
}

func TestWhoeverWritesAManifestWritesTheSame(t *testing.T) {
	b := membucket.New()
	zombie := begin(t, b)
	b.Before(refuse(membucket.Put, "segments/", errors.New("the zombie sleeps here")))
	zombie.ack(zombie.last(segment(1, 0, 4), 2))
	if err := zombie.tracker.Flush(t.Context()); err == nil {
		t.Fatal("flush succeeded without a manifest")
	}
	sleeping := b.Calls(membucket.Put, "segments/")[0].Data
	b.Before(nil)
	owner := begin(t, b)
	if owner.doc.Segments[1].State != checkpoints.Flushed {
		t.Fatalf("claimed %s", asJSON(owner.doc))
	}
	owner.ack(event(checkpoints.Event{Kind: checkpoints.DropPartition, Offset: 4, Partition: partition}))
	owner.flush()
	if !bytes.Equal(sleeping, b.Data(manifest1)) {
		t.Errorf("zombie:\n%s\nowner:\n%s", sleeping, b.Data(manifest1))
	}
}

func TestAnotherManifestUnderTheKeyEndsTheFlowByName(t *testing.T) {
	b := membucket.New()
	l := begin(t, b)
	l.ack(l.last(segment(1, 0, 4), 2))
	l.flush()
	theirs := b.Data(manifest1)
	b2 := membucket.New()
	b2.Set(manifest1, theirs)
	m := begin(t, b2)
	m.ack(m.last(segment(1, 0, 5), 2))
	err := m.tracker.Flush(t.Context())
	wantError(t, err, checkpoints.ErrConflict)
	if !strings.Contains(err.Error(), manifest1) {
		t.Errorf("error %q names no key", err)
	}
	if m.stored().Segments[1] == nil {
		t.Error("the entry left")
	}
	// The same content in other bytes, of another release, is no conflict.
	b3 := membucket.New()
	b3.Set(manifest1, append(theirs, '\n'))
	n := begin(t, b3)
	n.ack(n.last(segment(1, 0, 4), 2))
	n.flush()
}

func TestWhatNobodyCanAskForLeavesWithoutAManifest(t *testing.T) {
	b := membucket.New()
	l := begin(t, b)
	met := moved(3, nil)
	met.New = []checkpoints.Segment{segment(1, 1, 0)}
	l.ack(met)
	l.ack(empty(auto(l.names.SegmentID(), 2, 3)))
	l.ack(event(checkpoints.Event{Kind: checkpoints.DropPartition, Offset: 3, Partition: partition}))
	l.flush()
	if d := l.stored(); len(d.Segments) > 0 || len(b.Keys("segments/")) > 0 {
		t.Errorf("keys %v, document %s", b.Keys("segments/"), asJSON(d))
	}
}

func TestADroppedCollectionLeavesTwoNumbersAndItsEvents(t *testing.T) {
	b := membucket.New()
	l := begin(t, b)
	l.ack(event(checkpoints.Event{Kind: checkpoints.CreateCollection, Offset: 0, Name: "c", Schema: bytes.Repeat([]byte("s"), 5000)}))
	l.ack(l.last(auto(l.names.SegmentID(), 1, 5), 2))
	l.ack(event(checkpoints.Event{Kind: checkpoints.DropCollection, Offset: 5}))
	seen := 0
	b.Before(func(_ context.Context, c membucket.Call) error {
		if c.Op == membucket.Put && strings.HasPrefix(c.Key, "ddl/") {
			seen++
			if len(stored(t, b).Events) != 2 {
				t.Error("an event object that no committed document shows")
			}
		}
		return nil
	})
	l.flush()
	d := l.stored()
	c := d.Collections[collection]
	if seen != 2 || len(d.Events) != 0 || c.Name != "" || c.Schema != nil || c.Dropped.Offset != 5 ||
		c.Partitions[partition].AutoEnd != 5 || c.Partitions[partition].Name != "" {
		t.Errorf("document %s", asJSON(d))
	}
	if n := len(asJSON(d)); n > 700 {
		t.Errorf("%d bytes are left: %s", n, asJSON(d))
	}
	key := checkpoints.EventKey(v0.Name(), v0.TopicID, 0)
	e, err := checkpoints.DecodeEvent(key, b.Data(key))
	if err != nil || e.Kind != checkpoints.CreateCollection || len(e.Schema) != 5000 {
		t.Errorf("%s: %v %v", key, e, err)
	}
	// Replay of both by a next life changes nothing and writes nothing.
	next := begin(t, b)
	next.ack(event(checkpoints.Event{Kind: checkpoints.CreateCollection, Offset: 0, Name: "c", Schema: []byte("s")}))
	next.ack(event(checkpoints.Event{Kind: checkpoints.DropCollection, Offset: 5}))
	next.flush()
	if seen != 2 || asJSON(next.stored().Collections) != asJSON(d.Collections) {
		t.Errorf("after replay %s", asJSON(next.stored()))
	}
}

func TestEveryObjectSaysWhoWroteIt(t *testing.T) {
	b := membucket.New()
	l := begin(t, b)
	l.ack(event(checkpoints.Event{Kind: checkpoints.CreateCollection, Offset: 0, Schema: []byte("s")}))
	l.ack(l.last(segment(1, 1, 4), 2))
	l.flush()
	for _, c := range b.Calls(membucket.Put, "") {
		if c.Meta[checkpoints.MetaVChannel] != v0.Name() || c.Meta[checkpoints.MetaEpoch] == "" {
			t.Errorf("%s has metadata %v", c.Key, c.Meta)
		}
	}
}

func TestAnotherEventUnderTheKeyEndsTheFlowByName(t *testing.T) {
	create := event(checkpoints.Event{Kind: checkpoints.CreateCollection, Offset: 3, Schema: []byte("s"), Partitions: map[int64]string{}})
	b := membucket.New()
	l := begin(t, b)
	l.ack(create)
	l.flush()
	key := checkpoints.EventKey(v0.Name(), v0.TopicID, 3)
	theirs := b.Data(key)
	for _, test := range []struct {
		data []byte
		want error
	}{
		{append(bytes.Clone(theirs), '\n'), nil}, // the same in the words of another release
		{bytes.Replace(theirs, []byte("create"), []byte("alter"), 1), checkpoints.ErrConflict},
		{theirs[:20], checkpoints.ErrInvalid},
	} {
		b := membucket.New()
		b.Set(key, test.data)
		l := begin(t, b)
		l.ack(create)
		err := l.tracker.Flush(t.Context())
		if !errors.Is(err, test.want) || err != nil && !strings.Contains(err.Error(), key) {
			t.Errorf("over %s: %v", test.data, err)
		}
		if left := len(l.stored().Events) == 0; left != (test.want == nil) {
			t.Errorf("over %s: events %s", test.data, asJSON(l.stored().Events))
		}
	}
}

func TestManifestsAreAskedForManyAtATimeAndNotMore(t *testing.T) {
	b := membucket.New()
	var mu sync.Mutex
	asking, most := 0, 0
	b.Before(func(context.Context, membucket.Call) error {
		mu.Lock()
		asking++
		most = max(most, asking)
		mu.Unlock()
		time.Sleep(20 * time.Millisecond)
		mu.Lock()
		asking--
		mu.Unlock()
		return nil
	})
	synctest.Test(t, func(t *testing.T) {
		var refs []checkpoints.SegmentRef
		for id := range int64(160) {
			refs = append(refs, checkpoints.SegmentRef{Collection: collection, Partition: partition, Segment: id})
		}
		start := time.Now()
		known, err := checkpoints.LookupSegments(t.Context(), b, &checkpoints.Document{VChannel: v0.Name(), TopicID: v0.TopicID}, refs)
		if err != nil || len(known) != 160 || most != 16 || time.Since(start) != 200*time.Millisecond {
			t.Errorf("%d answers, %d at a time, in %v: %v", len(known), most, time.Since(start), err)
		}
	})
}
