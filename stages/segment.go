package stages

import (
	"flowgraph/checkpoints"
	"flowgraph/stages/column"
)

// segment is an open segment: what the document says of it and the rows that
// are not yet in a cut.
type segment struct {
	meta          checkpoints.Segment // as of the last cut; Start is set by the first row
	partitionName string
	met           bool  // a row of it was placed in this life
	unwanted      bool  // somebody wants it sealed, which the rules hold back
	flushed       int64 // bytes in PLAIN layout that left in cuts, of this life and earlier ones

	columns []*column.Column     // nil while nothing is buffered
	first   checkpoints.Position // smallest identity buffered
	hold    checkpoints.Position // of the pack that it came with
	since   int64                // wall time of the oldest buffered row, Unix ms
	minTS   uint64
	maxTS   uint64
	bytes   int64 // buffered, in PLAIN layout
	held    int64 // memory of the columns

	prev, next *segment // in the order of first; only while something is buffered
}

func (s *segment) place() place { return place{s.meta.Collection, s.meta.Partition} }

func (s *segment) rows() int64 {
	if len(s.columns) == 0 {
		return 0
	}
	return int64(s.columns[0].Rows)
}

// begin makes the segment's columns ready for its first buffered rows.
func (s *segment) begin(fields []column.Field, identity, hold checkpoints.Position, now int64) {
	s.columns = make([]*column.Column, len(fields))
	for i, f := range fields {
		s.columns[i] = column.New(f)
	}
	s.first, s.hold, s.since = identity, hold, now
	s.minTS, s.maxTS = ^uint64(0), 0
}

// grown takes account of what was appended.
func (s *segment) grown(minTS, maxTS uint64, logTime int64) {
	s.minTS, s.maxTS = min(s.minTS, minTS), max(s.maxTS, maxTS)
	s.bytes, s.held = 0, 0
	for _, c := range s.columns {
		s.bytes += c.Bytes()
		s.held += c.Held()
	}
	if s.meta.FirstTime == 0 {
		s.meta.FirstTime = logTime
	}
	s.meta.LastTime = logTime
}

// queue holds the segments with buffered rows, by their smallest identity.
// Identities rise along the log and so do holds, so a segment joins at the
// tail, and the head has the smallest of both and the oldest rows.
type queue struct{ head, tail *segment }

func (q *queue) join(s *segment) {
	s.prev, s.next = q.tail, nil
	if q.tail != nil {
		q.tail.next = s
	} else {
		q.head = s
	}
	q.tail = s
}

func (q *queue) leave(s *segment) {
	if s.prev != nil {
		s.prev.next = s.next
	} else {
		q.head = s.next
	}
	if s.next != nil {
		s.next.prev = s.prev
	} else {
		q.tail = s.prev
	}
	s.prev, s.next = nil, nil
}
