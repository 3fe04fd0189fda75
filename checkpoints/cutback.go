package checkpoints

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
)

// AcceptCutBack goes on with a log that lost its end: below at it is what was
// read, from there on it holds other records. What is stored of the end that is
// gone stays; rows of the log as it is now are dropped iff they lie below at
// and were stored. epoch is that of the document by which at was found: one
// that was claimed since may hold what the log has now. begin is the log's
// first offset. It is one write, and may be repeated after an error: ErrSameLog
// if it was done.
func AcceptCutBack(ctx context.Context, b Bucket, v VChannel, at Position, epoch, begin int64) (*Document, error) {
	_, d, err := claim(ctx, b, v, begin, func(d *Document) error {
		switch {
		case d.TopicID != v.TopicID:
			return sameLog(d, v)
		case d.Covered().Offset <= at.Offset:
			return fmt.Errorf("nothing of %s is stored from offset %d on: %w", d.VChannel, at.Offset, ErrSameLog)
		case d.Epoch != epoch:
			return fmt.Errorf("%s was claimed meanwhile, in epoch %d after %d: %w", d.VChannel, d.Epoch, epoch, ErrFenced)
		}
		lost, err := d.forgotten(ctx, b, at.Offset)
		if err != nil {
			return err
		}
		d.CutBack(at, begin, lost)
		return nil
	})
	return d, err
}

// CutBack makes the document that of the log as it is now. events tell what
// drops behind the cut have taken out of the document, the latest first.
func (d *Document) CutBack(at Position, begin int64, events []Event) {
	at.Tick = d.tickBefore(at.Offset)
	d.CutBacks = append(slices.Clone(d.CutBacks), CutBack{TopicID: d.TopicID, At: at, Epoch: d.Epoch + 1})
	d.moveBack(at, begin)
	d.Reached = at
	for id, s := range d.Segments {
		d.cutSegment(id, s, at)
	}
	for id, c := range d.Collections {
		d.Collections[id] = c.cutBack(id, at.Offset, events)
	}
}

// moveBack finds positions from which the log is decoded right from at on. A
// read_from is right for its own seek position and everything behind it: a
// transaction open at the cut, or a message remembered there, may have ended
// before a later one.
func (d *Document) moveBack(at Position, begin int64) {
	d.Earlier = slices.DeleteFunc(slices.Clone(d.Earlier), func(b Beginning) bool { return b.Seek.Offset > at.Offset })
	before := d.Seek.Offset
	if before >= at.Offset {
		d.Seek = at
	}
	if before <= at.Offset {
		return
	}
	d.ReadFrom = Position{Offset: min(begin, at.Offset), LeaderEpoch: -1}
	for _, b := range d.Earlier {
		if b.ReadFrom.Offset >= d.ReadFrom.Offset {
			d.ReadFrom = b.ReadFrom
		}
	}
}

// cutSegment lets a segment that has rows of the end that is gone end with it:
// its rows below the cut are persisted, those from there on go elsewhere. One
// that ends before it goes on; it is not sealed, or its rows up to the cut would
// be taken for stored.
func (d *Document) cutSegment(id int64, s *Segment, at Position) {
	switch {
	case s.State >= Flushed:
		if s.State == Dropped && !d.staysDropped(s, at.Offset) {
			back := *s
			back.State = Flushed
			d.Segments[id] = &back
			if s.unknownToAll() { // nothing was decided about it
				delete(d.Segments, id)
			}
		}
	case s.State == New && s.Start.Offset >= at.Offset:
		delete(d.Segments, id)
	case s.End.Offset > at.Offset:
		sealed := *s
		sealed.State = Flushed
		d.Segments[id] = &sealed
	default:
		next := *s
		next.Generation = d.Generation()
		d.Segments[id] = &next
	}
}

// staysDropped says whether a drop that the log still has concerns the segment.
func (d *Document) staysDropped(s *Segment, at int64) bool {
	c := d.Collections[s.Collection]
	if c == nil {
		return false
	}
	p := c.Partitions[s.Partition]
	return c.Dropped != nil && c.Dropped.Offset < at || p != nil && p.Dropped != nil && p.Dropped.Offset < at
}

// cutBack is the collection of a log that ends at an offset. What was created
// or changed behind it stays: the Milvus that wrote it goes on by it, and the
// log will not tell of it again. A drop behind it is undone: a row that the log
// has now would be left out.
func (c *Collection) cutBack(id, at int64, events []Event) *Collection {
	next := *c
	next.LastDDL = min(c.LastDDL, Last(at))
	next.SchemaOffset = min(c.SchemaOffset, at) // below it all is persisted
	next.Partitions = make(map[int64]*Partition, len(c.Partitions))
	if c.Dropped != nil && c.Dropped.Offset >= at {
		next.Dropped = nil
	}
	for pid, p := range c.Partitions {
		q := *p
		q.AutoEnd, q.AutoEndDelete = min(p.AutoEnd, at), min(p.AutoEndDelete, at)
		if p.Dropped != nil && p.Dropped.Offset >= at {
			q.Dropped = nil
		}
		next.Partitions[pid] = &q
	}
	if next.Dropped == nil {
		for _, e := range events {
			if e.Collection == id {
				next.recall(&e)
			}
		}
	}
	return &next
}

// recall fills in what an event knows and the document has forgotten.
func (c *Collection) recall(e *Event) {
	name := func(id int64, name string) {
		if p := c.Partitions[id]; p != nil && p.Dropped == nil {
			p.Name = cmp.Or(p.Name, name)
		}
	}
	switch e.Kind {
	case CreatePartition, DropPartition:
		name(e.Partition, e.Name)
		return
	}
	c.Name = cmp.Or(c.Name, e.Name)
	if len(c.Schema) == 0 {
		c.Schema = e.Schema
	}
	for id, n := range e.Partitions {
		name(id, n)
	}
}

// forgotten are the events of collections of which a drop at or behind an
// offset has taken something out of the document, the latest first.
func (d *Document) forgotten(ctx context.Context, b Bucket, at int64) ([]Event, error) {
	want := map[int64]bool{}
	for id, c := range d.Collections {
		want[id] = c.Dropped != nil && c.Dropped.Offset >= at && len(c.Schema) == 0
		for _, p := range c.Partitions {
			if p.Dropped != nil && p.Name == "" && p.Dropped.Offset >= at {
				want[id] = true
			}
		}
	}
	if !slices.Contains(slices.Collect(maps.Values(want)), true) {
		return nil, nil
	}
	var events []Event
	for g := range d.Generation() + 1 {
		list, err := loadEvents(ctx, b, EventPrefix(d.VChannel, LogName(d.TopicID, g)))
		if err != nil {
			return nil, err
		}
		events = append(events, list...)
	}
	events = append(events, d.Events...)
	slices.Reverse(events)
	return slices.DeleteFunc(events, func(e Event) bool { return !want[e.Collection] }), nil
}

// loadEvents reads the events under a prefix, by offset.
func loadEvents(ctx context.Context, b Bucket, prefix string) ([]Event, error) {
	var keys []string
	for info, err := range b.List(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		keys = append(keys, info.Key)
	}
	events := make([]Event, len(keys))
	return events, parallel(ctx, lookups, len(keys), func(ctx context.Context, i int) error {
		data, _, err := b.Get(ctx, keys[i])
		if err != nil {
			return err
		}
		e, err := DecodeEvent(keys[i], data)
		if err == nil {
			events[i] = *e
		}
		return err
	})
}

// tickBefore is the highest tick that a position at or below an offset tells.
func (d *Document) tickBefore(offset int64) (tick uint64) {
	for p := range d.Positions {
		if p.Offset <= offset {
			tick = max(tick, p.Tick)
		}
	}
	return tick
}

// Positions yields all places of the log, as it was when d was stored, that d
// tells of.
func (d *Document) Positions(yield func(Position) bool) {
	list := []Position{d.ReadFrom, d.Seek, d.Reached}
	for _, b := range d.Earlier {
		list = append(list, b.ReadFrom, b.Seek)
	}
	for _, s := range d.Segments {
		if s.Generation == d.Generation() {
			list = append(list, s.Start, s.End)
		}
	}
	for _, p := range list {
		if !yield(p) {
			return
		}
	}
}
