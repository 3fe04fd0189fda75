package stages

import (
	"flowgraph/checkpoints"
)

// late reroutes the rows of a segment that was sealed in this life, which gets
// no further row: they go where those without a segment go. The filter has
// done the same for segments that the store knows as Flushed. It is asked
// about every message that names a segment, also one without a row that fits,
// since the filter touches the segment for each of them.
func (b *Buffer) late(m *Message) {
	if m.Route != Assigned {
		return
	}
	if is, sealed := b.sealed.get(m.Insert.Segment); sealed {
		b.sealed.touch(m.Insert.Segment, is)
		m.Route = Rerouted
	}
}

// target is the segment that takes a message's rows.
func (b *Buffer) target(m *Message) *segment {
	at := place{m.Insert.Collection, m.Insert.Partition}
	if m.Route == Assigned {
		return b.assigned(m.Insert.Segment, at, m)
	}
	if m.Route == Rerouted {
		b.counts.Rerouted += int64(m.Insert.Rows)
	}
	return b.autoSegment(at, checkpoints.L1, m)
}

// assigned returns the open segment with this ID, New if it was never met.
func (b *Buffer) assigned(id int64, at place, m *Message) *segment {
	s := b.open[id]
	if s == nil {
		s = &segment{meta: checkpoints.Segment{
			ID: id, Collection: at.collection, Partition: at.partition, Level: checkpoints.L1,
		}}
		b.open[id] = s
	}
	b.meet(s, m)
	return s
}

// autoSegment returns the partition's open auto segment of a level.
func (b *Buffer) autoSegment(at place, level checkpoints.Level, m *Message) *segment {
	key := autoKey{at, level}
	s := b.auto[key]
	if s == nil {
		s = &segment{meta: checkpoints.Segment{
			ID: b.cfg.Names.SegmentID(), Collection: at.collection, Partition: at.partition, Level: level, Auto: true,
		}}
		b.auto[key], b.open[s.meta.ID] = s, s
	}
	b.meet(s, m)
	return s
}

// meet sets the Start of a segment of which nothing is persisted by its first
// row of this life: identities rise, so that is the smallest, and a Start that
// an earlier life stored is information only.
func (b *Buffer) meet(s *segment, m *Message) {
	if s.met {
		return
	}
	s.met = true
	if s.meta.State != checkpoints.New {
		return
	}
	s.meta.Start = m.Identity
	s.meta.FirstTime, s.meta.LastTime = m.Record.Time, m.Record.Time
	if !s.meta.Auto {
		b.succeed(s)
	}
	b.met = append(b.met, s.meta)
}

// succeed remembers the newest segment of a partition: the one whose first
// row has the highest offset.
func (b *Buffer) succeed(s *segment) {
	c := b.collections[s.meta.Collection]
	if c == nil {
		return
	}
	if start, ok := c.newest[s.meta.Partition]; !ok || s.meta.Start.Offset > start {
		c.newest[s.meta.Partition] = s.meta.Start.Offset
	}
}

func (b *Buffer) succeeded(s *segment) bool {
	c := b.collections[s.meta.Collection]
	return c != nil && c.newest[s.meta.Partition] > s.meta.Start.Offset
}
