package archive

import (
	"context"

	"flowgraph/checkpoints"
)

// row finds what was produced for a stored row.
func (s *segmentCheck) row(r Row) {
	at, known := s.found.take(s.digest.stored(s.place, s.seg.Fields, r), func(e *entry) bool {
		return e.segment == s.seg.ID || s.seg.Auto && e.segment == 0
	})
	switch {
	case at == 0 && known:
		s.unknowns = true
		s.wrong("row ID %d is there more often than it was produced", r.ID)
		return
	case at == 0:
		s.unknowns = true
		s.strange(r)
		return
	}
	e := &s.want.rows.list[at]
	s.report.Rows++
	s.inRange(e.identity, "row", r.ID)
	switch {
	case e.segment == s.seg.ID || e.segment == 0 && s.seg.Auto:
	case s.seg.Auto:
		s.report.Rerouted++
		named := s.seg.ref()
		named.Segment = e.segment
		s.late[late{named, e.identity}]++
	default:
		s.wrong("row ID %d belongs to segment %d", r.ID, e.segment)
	}
}

// strange explains a row that was not produced like this.
func (s *segmentCheck) strange(r Row) {
	if at := s.found.sameRow(s.place, r.ID); at != 0 {
		s.found.seen[at] = true
		s.wrong("row ID %d differs from what offset %d holds", r.ID, s.want.rows.list[at].identity)
		return
	}
	s.wrong("row ID %d was not produced there", r.ID)
}

// delete finds what was produced for a stored delete.
func (s *segmentCheck) delete(d Delete) {
	at, known := s.found.take(s.digest.delete(s.place, d.Key, d.Timestamp), func(e *entry) bool { return e.id > s.lastID })
	if at == 0 {
		s.unknowns = true
		why := "was not produced there"
		if known {
			why = "is there more often than it was produced"
		}
		s.wrong("a delete with timestamp %d %s", d.Timestamp, why)
		return
	}
	e := &s.want.rows.list[at]
	s.report.Deletes++
	s.inRange(e.identity, "delete", e.id)
	if e.id < s.lastID {
		s.wrong("the delete of offset %d stands after a later one", e.identity)
	}
	s.lastID = e.id
}

func (s *segmentCheck) inRange(identity int64, what string, id int64) {
	if identity < 0 {
		s.unknowns = true
		return
	}
	s.first = min(s.first, identity)
	if identity < s.seg.Start.Offset || identity >= s.seg.End.Offset {
		s.wrong("%s %d of offset %d is outside its range [%d, %d)", what, id, identity, s.seg.Start.Offset, s.seg.End.Offset)
	}
}

// rerouted checks why rows are not in the segment that their message names:
// only a sealed segment sends rows away, and only those at or above its end.
func (c *check) rerouted(context.Context) error {
	for l, rows := range c.late {
		switch ref := c.refs[l.named]; {
		case ref == nil:
			c.problem("offset %d: %d rows of segment %d of %d/%d are in an auto segment, but that segment does not exist",
				l.identity, rows, l.named.Segment, l.named.Collection, l.named.Partition)
		case !ref.sealed:
			c.problem("offset %d: %d rows of segment %d of %d/%d are in an auto segment, but that segment is open",
				l.identity, rows, l.named.Segment, l.named.Collection, l.named.Partition)
		case l.identity >= 0 && l.identity < ref.end:
			c.problem("offset %d: %d rows of segment %d of %d/%d are in an auto segment, but that segment ends at %d",
				l.identity, rows, l.named.Segment, l.named.Collection, l.named.Partition, ref.end)
		}
	}
	// What lies below an AutoEnd is not read again; all that is stored must.
	for a, end := range c.autos {
		p, kind := c.want.places[a.place], rowEntry
		if a.level == checkpoints.L0 {
			kind = deleteEntry
		}
		if doc := c.archive.doc(p.log.vchannel); doc != nil && autoEnd(doc, p, kind) < end {
			c.problem("%s: collection %d, partition %d: its auto end is %d, an auto segment ends at %d",
				p.log.vchannel, p.collection, p.partition, autoEnd(doc, p, kind), end)
		}
	}
	return nil
}
