package checkpoints

import (
	"fmt"
	"maps"
	"slices"
)

// Apply lets a change enter the document. It is called in cut order. On an
// error (ErrChange) the document must not be used any further.
//
// Entries are replaced, never changed in place: a copy of the document's maps
// is a snapshot.
func (d *Document) Apply(c Change) error {
	for _, s := range c.New {
		d.meet(s)
	}
	if c.Flush != nil {
		if err := d.flush(c.Flush); err != nil {
			return fmt.Errorf("segment %d: %w", c.Flush.Segment.ID, err)
		}
	}
	if c.Event != nil {
		if err := d.event(*c.Event); err != nil {
			return err
		}
	}
	if c.Flush != nil || c.Event != nil {
		d.Reached = d.Reached.Later(c.End)
	}
	d.Seek = d.Seek.forward(c.Seek)
	d.ReadFrom = d.ReadFrom.forward(c.ReadFrom)
	return nil
}

// forward is the later of two positions; of two at one offset the one that
// knows more ticks.
func (p Position) forward(q Position) Position {
	if q.Offset > p.Offset || q.Offset == p.Offset && q.Tick > p.Tick {
		return q
	}
	return p
}

// meet notes a segment of which nothing is persisted yet. It is information
// for people: replay finds such a segment again, and its start.
func (d *Document) meet(s Segment) {
	if d.Segments[s.ID] != nil || d.isDropped(s.Collection, s.Partition) {
		return
	}
	d.partition(s.Collection, s.Partition, "")
	d.Segments[s.ID] = &Segment{
		ID: s.ID, Collection: s.Collection, Partition: s.Partition, Level: s.Level, Auto: s.Auto,
		State: New, Start: s.Start, FirstTime: s.FirstTime, LastTime: s.LastTime, Generation: d.Generation(),
	}
}

// flush adds one cut of a segment.
func (d *Document) flush(f *Flush) error {
	if f.Log == nil && !f.Sealed {
		return nil
	}
	p := d.partition(f.Segment.Collection, f.Segment.Partition, f.PartitionName)
	if c := d.Collections[f.Segment.Collection]; f.Channel != "" && c.Channel == "" && c.Dropped == nil {
		d.collection(f.Segment.Collection).Channel = f.Channel
	}
	old := d.Segments[f.Segment.ID]
	if old == nil {
		old = &Segment{ID: f.Segment.ID, Collection: f.Segment.Collection, Partition: f.Segment.Partition,
			Level: f.Segment.Level, Auto: f.Segment.Auto, State: New}
	}
	if err := f.contradicts(old); err != nil {
		return err
	}
	if old.State >= Flushed {
		return nil // sealed twice, without rows
	}
	s := *old
	s.add(f)
	s.Generation = d.Generation()
	if f.Sealed {
		s.State = Flushed
		if d.isDropped(s.Collection, s.Partition) {
			s.State = Dropped
		}
	}
	d.Segments[s.ID] = &s
	if s.Auto {
		d.raiseAutoEnd(p, &s)
	}
	return nil
}

// contradicts says why a flush cannot be of this segment.
func (f *Flush) contradicts(s *Segment) error {
	n := f.Segment
	switch {
	case s.State >= Flushed && f.Log != nil:
		return fmt.Errorf("log %s after its last flush: %w", f.Log.ID, ErrChange)
	case n.Collection != s.Collection || n.Partition != s.Partition || n.Level != s.Level || n.Auto != s.Auto:
		return fmt.Errorf("flushed as %d/%d level %d, known as %d/%d level %d: %w",
			n.Collection, n.Partition, n.Level, s.Collection, s.Partition, s.Level, ErrChange)
	case f.Log != nil && (f.Log.Rows <= 0 || !isLogID(f.Log.ID)):
		return fmt.Errorf("log %q of %d rows: %w", f.Log.ID, f.Log.Rows, ErrChange)
	case f.Log != nil && s.Rows > 0 && !slices.Equal(n.Fields, s.Fields):
		return fmt.Errorf("fields %v after fields %v: it would mix two schemas: %w", n.Fields, s.Fields, ErrChange)
	case f.Log != nil && s.Rows > 0 && n.PKField != s.PKField:
		return fmt.Errorf("statistics of field %d after those of field %d: %w", n.PKField, s.PKField, ErrChange)
	case n.End.Offset <= 0:
		return fmt.Errorf("flushed without an end: %w", ErrChange)
	}
	return nil
}

// add is what a flush does to an open segment. End never moves back: a cut
// taken during replay may lie before the one that is stored.
func (s *Segment) add(f *Flush) {
	n := f.Segment
	if s.State == New {
		// The stored start of a segment with nothing persisted is only
		// information; what is persisted now decides.
		s.Start, s.FirstTime = n.Start, n.FirstTime
	}
	s.End = s.End.Later(n.End)
	s.LastTime = max(s.LastTime, n.LastTime)
	if f.Log == nil {
		return
	}
	s.State = Normal
	s.Fields, s.PKField = n.Fields, n.PKField
	s.Rows += f.Log.Rows
	s.Bytes += f.Log.Bytes
	s.Logs = append(s.Logs, *f.Log)
}

// neverCut: no flush and no seal of the segment was ever stored.
func (s *Segment) neverCut() bool { return s.End.Offset == 0 }

// collection returns a copy of the collection's entry that is in the document
// and may be changed until the next snapshot.
func (d *Document) collection(id int64) *Collection {
	c := Collection{LastDDL: -1, SchemaOffset: -1}
	if old := d.Collections[id]; old != nil {
		c = *old
	}
	c.Partitions = maps.Clone(c.Partitions)
	if c.Partitions == nil {
		c.Partitions = map[int64]*Partition{}
	}
	d.Collections[id] = &c
	return &c
}

// partition returns the partition's entry and makes it where it is missing:
// partitions appear without a DDL message, and their names are in the inserts.
func (d *Document) partition(collection, id int64, name string) *Partition {
	if c := d.Collections[collection]; c != nil {
		p := c.Partitions[id]
		if p != nil && (name == "" || name == p.Name || d.isDropped(collection, id)) {
			return p
		}
	}
	p := Partition{}
	c := d.collection(collection)
	if old := c.Partitions[id]; old != nil {
		p = *old
	}
	if c.Dropped == nil {
		p.Name = name
	}
	c.Partitions[id] = &p
	return &p
}

func (d *Document) isDropped(collection, partition int64) bool {
	c := d.Collections[collection]
	if c == nil {
		return false
	}
	p := c.Partitions[partition]
	return c.Dropped != nil || p != nil && p.Dropped != nil
}

// autoEnd is the partition's AutoEnd for the segment's level.
func (d *Document) autoEnd(s *Segment) int64 {
	c := d.Collections[s.Collection]
	if c == nil || c.Partitions[s.Partition] == nil {
		return 0
	}
	return c.Partitions[s.Partition].ofLevel(s.Level)
}

func (p *Partition) ofLevel(l Level) int64 {
	if l == L0 {
		return p.AutoEndDelete
	}
	return p.AutoEnd
}

// raiseAutoEnd keeps the largest End of the partition's auto segments. Rows
// and deletes have their own: one number for both would lose the rows below a
// delete's End.
func (d *Document) raiseAutoEnd(p *Partition, s *Segment) {
	if s.End.Offset <= p.ofLevel(s.Level) {
		return
	}
	next := *p
	if s.Level == L0 {
		next.AutoEndDelete = s.End.Offset
	} else {
		next.AutoEnd = s.End.Offset
	}
	d.collection(s.Collection).Partitions[s.Partition] = &next
}
