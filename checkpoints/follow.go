package checkpoints

import "fmt"

// follows refuses a document that would move back behind last, the version it
// is to replace. Compare-and-set already keeps other owners out; what this
// finds is a bug of this one, before it is stored.
func (d *Document) follows(last *Document) error {
	switch {
	case d.VChannel != last.VChannel || d.TopicID != last.TopicID:
		return fmt.Errorf("of %s, topic %s, after %s, topic %s: %w", d.VChannel, d.TopicID, last.VChannel, last.TopicID, ErrBackwards)
	case d.Epoch < last.Epoch || d.Sequence <= last.Sequence:
		return fmt.Errorf("epoch %d, sequence %d after %d, %d: %w", d.Epoch, d.Sequence, last.Epoch, last.Sequence, ErrBackwards)
	case d.Seek.Offset < last.Seek.Offset:
		return fmt.Errorf("seek position %d after %d: %w", d.Seek.Offset, last.Seek.Offset, ErrBackwards)
	case d.ReadFrom.Offset < last.ReadFrom.Offset:
		return fmt.Errorf("read_from %d after %d: %w", d.ReadFrom.Offset, last.ReadFrom.Offset, ErrBackwards)
	}
	if len(d.CutBacks) < len(last.CutBacks) {
		return fmt.Errorf("it forgets where the log was cut back: %w", ErrBackwards)
	}
	for id, old := range last.Segments {
		if err := old.before(d.Segments[id]); err != nil {
			return fmt.Errorf("segment %d: %w", id, err)
		}
	}
	for id, old := range last.Collections {
		if err := old.before(d.Collections[id]); err != nil {
			return fmt.Errorf("collection %d: %w", id, err)
		}
	}
	return nil
}

// before says why s cannot be followed by next. Only what is final may leave.
func (s *Segment) before(next *Segment) error {
	switch {
	case next == s:
		return nil
	case next == nil && s.State < Flushed:
		return fmt.Errorf("left while open: %w", ErrBackwards)
	case next == nil:
		return nil
	case next.State < s.State:
		return fmt.Errorf("state %d after %d: %w", next.State, s.State, ErrBackwards)
	case next.End.Offset < s.End.Offset || next.Rows < s.Rows:
		return fmt.Errorf("end %d, %d rows after %d, %d rows: %w", next.End.Offset, next.Rows, s.End.Offset, s.Rows, ErrBackwards)
	case s.State >= Flushed && (next.End != s.End || next.Rows != s.Rows ||
		len(next.Logs) != len(s.Logs) || len(next.Chunks) != len(s.Chunks)):
		return fmt.Errorf("changed after its last flush: %w", ErrBackwards)
	}
	return nil
}

func (c *Collection) before(next *Collection) error {
	if next == c {
		return nil
	}
	if next == nil || next.LastDDL < c.LastDDL || c.Dropped != nil && next.Dropped == nil {
		return fmt.Errorf("an event is forgotten: %w", ErrBackwards)
	}
	for id, p := range c.Partitions {
		n := next.Partitions[id]
		if n == p {
			continue
		}
		if n == nil || n.AutoEnd < p.AutoEnd || n.AutoEndDelete < p.AutoEndDelete || p.Dropped != nil && n.Dropped == nil {
			return fmt.Errorf("partition %d: its auto end or drop moved back: %w", id, ErrBackwards)
		}
	}
	return nil
}
