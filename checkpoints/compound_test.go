package checkpoints_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/membucket"
)

// compounds notes the segments whose compound object was asked for, and
// fails if they are not final in what is committed or have left already.
type compounds struct {
	t      *testing.T
	bucket *membucket.Bucket
	fail   error
	mu     sync.Mutex
	asked  []int64
	last   checkpoints.Segment
}

func (c *compounds) put(_ context.Context, s *checkpoints.Segment, meta map[string]string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked, c.last = append(c.asked, s.ID), *s
	if d := stored(c.t, c.bucket); d.Segments[s.ID] == nil || d.Segments[s.ID].State < checkpoints.Flushed {
		c.t.Errorf("compound of segment %d over %s", s.ID, asJSON(d))
	}
	if c.bucket.Data(s.ManifestKey()) != nil {
		c.t.Errorf("compound of segment %d after its manifest", s.ID)
	}
	if meta[checkpoints.MetaVChannel] != v0.Name() {
		c.t.Errorf("metadata %v", meta)
	}
	return c.fail
}

func (c *compounds) ids() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := slices.Clone(c.asked)
	slices.Sort(ids)
	c.asked = nil
	return ids
}

func beginCompound(t *testing.T, b *membucket.Bucket, fail error) (*life, *compounds) {
	t.Helper()
	c := &compounds{t: t, bucket: b, fail: fail}
	o := checkpoints.DefaultOptions()
	o.Compound = c.put
	return beginWith(t, b, o), c
}

func TestCompoundStatisticsAreOnlyOfFinalRowsWithAKey(t *testing.T) {
	b := membucket.New()
	l, c := beginCompound(t, b, nil)
	without := segment(2, 1, 2)
	without.PKField = 0
	l.ack(l.last(segment(1, 0, 1), 1))
	l.ack(l.last(without, 1))
	l.ack(l.last(deletes(3, 2, 3), 1))
	l.ack(empty(segment(4, 3, 4)))
	l.ack(l.rows(segment(5, 4, 5), 1))
	l.ack(l.rows(segment(6, 5, 6), 1))
	l.flush()
	if got := c.ids(); !slices.Equal(got, []int64{1}) {
		t.Errorf("compound objects of %v", got)
	}
	// What was dropped is read like anything else until it is purged.
	l.ack(event(checkpoints.Event{Kind: checkpoints.DropPartition, Offset: 8, Partition: partition}))
	l.ack(empty(segment(5, 4, 9)))
	l.ack(empty(segment(6, 5, 9)))
	l.flush()
	if got := c.ids(); !slices.Equal(got, []int64{5, 6}) {
		t.Errorf("after the drop: compound objects of %v", got)
	}
}

// A segment whose manifest is there has left the document: nobody would make
// its compound object later.
func TestNoManifestWithoutItsCompoundStatistics(t *testing.T) {
	b := membucket.New()
	down := errors.New("down")
	first, c := beginCompound(t, b, down)
	first.ack(first.rows(segment(1, 0, 2), 2))
	first.ack(first.last(segment(1, 0, 4), 3))
	wantError(t, first.tracker.Flush(t.Context()), down)
	if b.Data(manifest1) != nil || first.stored().Segments[1] == nil {
		t.Fatalf("keys %v, document %s", b.Keys(""), asJSON(first.stored()))
	}
	before := c.last
	second, c := beginCompound(t, b, nil)
	second.flush()
	if got := c.ids(); !slices.Equal(got, []int64{1}) || asJSON(c.last) != asJSON(before) {
		t.Errorf("compound objects of %v, of %s after %s", got, asJSON(c.last), asJSON(before))
	}
	if b.Data(manifest1) == nil {
		t.Error("no manifest")
	}
}

func TestAnOldLogsSegmentsGetTheirCompoundStatistics(t *testing.T) {
	b := membucket.New()
	l := begin(t, b)
	l.ack(l.rows(segment(1, 0, 2), 2))
	l.flush()
	second := v0
	second.TopicID = "second-topic"
	c := &compounds{t: t, bucket: b}
	if _, err := checkpoints.AcceptLog(t.Context(), b, second, 0, c.put); err != nil {
		t.Fatal(err)
	}
	if got := c.ids(); !slices.Equal(got, []int64{1}) {
		t.Errorf("compound objects of %v", got)
	}
}

// Every flush of a segment is listed with statistics or none is: one without
// would be looked for in vain.
func TestASegmentNeverMixesFlushesWithAndWithoutStatistics(t *testing.T) {
	without := segment(1, 0, 3)
	without.PKField = 0
	d, l := fresh(t)
	apply(t, d, l.rows(segment(1, 0, 2), 1))
	wantError(t, d.Apply(l.rows(without, 1)), checkpoints.ErrChange)
	d, l = fresh(t)
	apply(t, d, l.rows(without, 1))
	wantError(t, d.Apply(l.rows(segment(1, 0, 4), 1)), checkpoints.ErrChange)
}

func TestOnlyAFinalSegmentHasACompoundKey(t *testing.T) {
	s := segment(7, 0, 1)
	s.State, s.Rows = checkpoints.Dropped, 1
	if got := s.CompoundKey(); got != "stats_log/100/101/7/100/1" {
		t.Errorf("key %q", got)
	}
	for name, edit := range map[string]func(*checkpoints.Segment){
		"open":    func(s *checkpoints.Segment) { s.State = checkpoints.Normal },
		"no key":  func(s *checkpoints.Segment) { s.PKField = 0 },
		"no rows": func(s *checkpoints.Segment) { s.Rows = 0 },
		"deletes": func(s *checkpoints.Segment) { s.Level = checkpoints.L0 },
	} {
		other := s
		if edit(&other); other.CompoundKey() != "" {
			t.Errorf("%s: key %q", name, other.CompoundKey())
		}
	}
}
