package checkpoints

import (
	"context"
	"fmt"
	"slices"
)

// Rewind claims the vchannel and moves its positions back to one that a
// document held or to the log's beginning; the flow that owned it is fenced.
// Nothing doubles, since Ends, AutoEnds and manifests stay, and the seek
// position is that of Rewound.
func Rewind(ctx context.Context, b Bucket, v VChannel, to Position) (*Document, error) {
	_, d, err := claim(ctx, b, v, to.Offset, func(d *Document) error {
		if err := sameLog(d, v); err != nil {
			return err
		}
		if to.Offset > d.ReadFrom.Offset {
			return fmt.Errorf("rewind %s to %d: it reads from %d: %w", d.VChannel, to.Offset, d.ReadFrom.Offset, ErrForward)
		}
		d.Seek = d.Rewound(to)
		d.ReadFrom = to
		return nil
	})
	return d, err
}

// AcceptLog takes the vchannel's topic, created anew, as the log to go on
// with: what the old log left open is sealed and moves to manifests under the
// old topic's ID, and the new log is read from begin, its first offset. It
// may be repeated after an error.
func AcceptLog(ctx context.Context, b Bucket, v VChannel, begin int64, compound Compound) (*Document, error) {
	old, d, err := claim(ctx, b, v, begin, func(d *Document) error {
		if d.TopicID == v.TopicID {
			return fmt.Errorf("%s is stored for topic ID %s already: %w", d.VChannel, v.TopicID, ErrSameLog)
		}
		d.sealAll()
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := settleAll(ctx, b, d, old.Meta(), compound); err != nil {
		return nil, err
	}
	_, d, err = claim(ctx, b, v, begin, func(d *Document) error {
		if d.Owner != old.owner {
			return fmt.Errorf("accept the log of %s: %w", d.VChannel, ErrFenced)
		}
		d.beginLog(v.TopicID, begin)
		return nil
	})
	return d, err
}

// sealAll closes what is open. Rows between an End and the old log's end are
// gone with that log.
func (d *Document) sealAll() {
	for id, s := range d.Segments {
		switch s.State {
		case New:
			delete(d.Segments, id)
		case Normal:
			sealed := *s
			sealed.State = Flushed
			d.Segments[id] = &sealed
		}
	}
}

// settleAll stores everything that d, a committed document without open
// segments, holds as objects of its own.
func settleAll(ctx context.Context, b Bucket, d *Document, meta map[string]string, compound Compound) error {
	for _, s := range d.Segments {
		if err := settleSegment(ctx, b, d, s, meta, compound); err != nil {
			return err
		}
	}
	for _, e := range d.Events {
		if err := putEvent(ctx, b, d, e, meta); err != nil {
			return err
		}
	}
	return nil
}

// beginLog makes the document that of another log. Offsets of the old one say
// nothing about it: AutoEnds would drop its rows unread, and a drop is of the
// old log too. Names and schemas of what lives on are kept.
func (d *Document) beginLog(topicID string, begin int64) {
	d.TopicID, d.Earlier, d.Manifests = topicID, nil, new(int64)
	d.Segments, d.Events = map[int64]*Segment{}, nil
	d.ReadFrom = Position{Offset: begin, LeaderEpoch: -1}
	d.Seek, d.Reached = d.ReadFrom, Position{}
	for id, old := range d.Collections {
		if old.Dropped != nil {
			delete(d.Collections, id)
			continue
		}
		c := Collection{Name: old.Name, Schema: old.Schema, SchemaOffset: -1, LastDDL: -1, Partitions: map[int64]*Partition{}}
		for pid, p := range old.Partitions {
			if p.Dropped == nil {
				c.Partitions[pid] = &Partition{Name: p.Name}
			}
		}
		d.Collections[id] = &c
	}
}

// earlier is how many read_froms a document keeps.
const earlier = 16

// noteReadFrom keeps the position from which the document is about to be
// read, with the last of its seek positions.
func (d *Document) noteReadFrom() {
	if b := d.began(d.ReadFrom.Offset); b != nil {
		b.Seek = b.Seek.Later(d.Seek)
		return
	}
	d.Earlier = append(d.Earlier, Beginning{d.ReadFrom, d.Seek})
	slices.SortFunc(d.Earlier, func(x, y Beginning) int { return x.ReadFrom.Compare(y.ReadFrom) })
	if n := len(d.Earlier) - earlier; n > 0 {
		d.Earlier = d.Earlier[n:]
	}
}

func (d *Document) began(offset int64) *Beginning {
	for i := range d.Earlier {
		if d.Earlier[i].ReadFrom.Offset == offset {
			return &d.Earlier[i]
		}
	}
	return nil
}

// Held is the position at this offset that documents held as read_from.
func (d *Document) Held(offset int64) (Position, bool) {
	if b := d.began(offset); b != nil {
		return b.ReadFrom, true
	}
	return Position{}, false
}

// Rewound is the seek position that goes with reading from a position again.
// A message may lie before it whose repeat lies behind it: what a restart from
// there would have dropped for that is dropped again. Where no reading began
// nobody knows, and nothing below the seek position is taken again. Nothing
// lies before offset 0.
func (d *Document) Rewound(to Position) Position {
	if to.Offset == 0 {
		return to
	}
	if b := d.began(to.Offset); b != nil {
		return to.Later(b.Seek)
	}
	return d.Seek
}
