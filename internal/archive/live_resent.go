package archive

import (
	"context"
	"slices"

	"flowgraph/checkpoints"
	"flowgraph/stages/column"
)

// rowStamp is a row as Milvus tells it from all others: what a producer sends
// once more after its log was cut back has the same.
type rowStamp struct {
	id        int64
	timestamp uint64
}

// resent are rows of ends that logs have lost, with the generation in which
// they count.
type resent map[rowStamp]int

// Again says whether the segment has a row once more that lies in an end that
// its log lost before.
func (s *LiveSegment) Again(id int64, timestamp uint64) bool {
	g, again := s.again[rowStamp{id, timestamp}]
	return again && g < s.Generation
}

// Resent says whether it has any such row.
func (s *LiveSegment) Resent() bool { return s.again != nil }

// resend finds the rows that a producer sent once more after its log was cut
// back, and whose first copy was stored: one write is one live row. A flush of
// nothing else is left out. It costs nothing where no log was ever cut back.
func (l *Live) resend(ctx context.Context, p *LivePartition) error {
	first, since, err := l.lostRows(ctx, p)
	if err != nil || len(first) == 0 {
		return err
	}
	for _, s := range p.Segments {
		var kept []checkpoints.Log
		for _, f := range s.Flushes {
			again, unread, err := l.sentAgain(ctx, s, f, first, since)
			if err != nil {
				return err
			}
			if again {
				s.again = first
			}
			if !again || unread < f.Rows {
				kept = append(kept, f)
			} else {
				p.Stored -= f.Rows
			}
		}
		s.Flushes = kept
	}
	p.Segments = slices.DeleteFunc(p.Segments, func(s *LiveSegment) bool { return len(s.Flushes) == 0 })
	return nil
}

// lostRows reads which rows segments hold of ends that are lost, and perhaps
// some before them: none of a timestamp up to since.
func (l *Live) lostRows(ctx context.Context, p *LivePartition) (resent, uint64, error) {
	first, since := resent{}, uint64(never)
	for _, s := range p.Segments {
		at := l.archive.end(s.Segment)
		later := func(o *LiveSegment) bool {
			return o.VChannel == s.VChannel && o.TopicID == s.TopicID && o.Generation > s.Generation
		}
		if at.Offset == s.End.Offset || !slices.ContainsFunc(p.Segments, later) {
			continue
		}
		since = min(since, at.Tick)
		for _, f := range s.Flushes {
			if f.MaxTS <= at.Tick {
				continue
			}
			err := l.stamps(ctx, s, f, func(r rowStamp) {
				if g, ok := first[r]; r.timestamp > at.Tick && (!ok || s.Generation < g) {
					first[r] = s.Generation
				}
			})
			if err != nil {
				return nil, 0, err
			}
		}
	}
	return first, since, nil
}

// sentAgain says whether rows of a flush count elsewhere, and how many do or are
// behind the moment.
func (l *Live) sentAgain(ctx context.Context, s *LiveSegment, f checkpoints.Log, first resent, since uint64) (again bool, unread int64, err error) {
	if s.Generation == 0 || f.MaxTS <= since {
		return false, 0, nil
	}
	err = l.stamps(ctx, s, f, func(r rowStamp) {
		g, twice := first[r]
		twice = twice && g < s.Generation
		again = again || twice
		if twice || r.timestamp > l.Until {
			unread++
		}
	})
	return again, unread, err
}

// stamps reads the row IDs and timestamps of a flush.
func (l *Live) stamps(ctx context.Context, s *LiveSegment, f checkpoints.Log, do func(rowStamp)) error {
	flush, err := l.load(ctx, flushOf{s, f}, l.Fields[:2])
	if err != nil {
		return err
	}
	for r := range flush.rows() {
		do(rowStamp{column.Int64(r.Values[0]), uint64(column.Int64(r.Values[1]))})
	}
	return nil
}
