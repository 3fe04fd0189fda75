package archive

import (
	"cmp"
	"context"
	"slices"

	"flowgraph/checkpoints"
)

// matchAtOnce is how many entries are compared at a time: about 150 MB.
const matchAtOnce = 1 << 20

// match is the comparison of some parts of what was produced with the same
// parts of what is stored.
type match struct {
	*check
	*entries
}

// match compares part by part, as many of them together as fit in memory. The
// order of deletes is looked at within such a group, so in an archive of many
// groups two exchanged deletes of different ones are not found.
func (c *check) match(ctx context.Context) error {
	for from := 0; from < spoolParts; {
		n, to := 0, from
		for ; to < spoolParts; to++ {
			more := c.want.rows.parts[to].count + c.items.parts[to].count
			if to > from && n+more > c.atOnce {
				break
			}
			n += more
		}
		if err := c.matchParts(from, to); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		from = to
	}
	for _, s := range c.checks {
		s.position()
	}
	return nil
}

func (c *check) matchParts(from, to int) error {
	n := 0
	for part := from; part < to; part++ {
		n += c.want.rows.parts[part].count
	}
	m := &match{c, newEntries(n)}
	for part := from; part < to; part++ {
		if err := c.want.rows.each(part, func(b []byte) { m.add(readEntry(b)) }); err != nil {
			return err
		}
	}
	stored, err := c.storedIn(from, to)
	if err != nil {
		return err
	}
	for _, s := range c.checks {
		s.lastID = 0
	}
	for _, t := range stored {
		if s := c.checks[t.segment]; t.kind == rowEntry {
			m.row(s, t)
		} else {
			m.delete(s, t)
		}
	}
	m.missing()
	return nil
}

// storedIn reads what is stored of the parts, each segment's deletes in the
// order in which they are stored.
func (c *check) storedIn(from, to int) ([]item, error) {
	var stored []item
	for part := from; part < to; part++ {
		if err := c.items.each(part, func(b []byte) { stored = append(stored, readItem(b)) }); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(stored, func(x, y item) int {
		return cmp.Or(cmp.Compare(x.segment, y.segment), cmp.Compare(x.number, y.number))
	})
	return stored, nil
}

// row finds what was produced for a stored row.
func (m *match) row(s *segmentCheck, t item) {
	at, known := m.take(t.digest, s.mayBe, func(e *entry) bool {
		return (e.segment == s.seg.ID || s.seg.Auto && e.segment == 0) && s.holds(e.identity)
	})
	if at == 0 && s.tail {
		m.report.CutOff++
		return
	}
	if at == 0 {
		m.strange(s, t, known)
		return
	}
	e := &m.list[at]
	m.report.Rows++
	s.inRange(e, t)
	switch {
	case e.segment == s.seg.ID || e.segment == 0 && s.seg.Auto:
	case s.seg.Auto:
		m.report.Rerouted++
		named := s.seg.ref()
		named.Segment = e.segment
		m.late[late{named, e.identity}]++
	default:
		m.fault(RowFault{Kind: Misplaced, Offset: e.identity, Instead: e.segment}, s, t)
	}
}

// strange explains a row that was not produced like this.
func (m *match) strange(s *segmentCheck, t item, known bool) {
	s.unknowns = true
	if known {
		m.fault(RowFault{Kind: Doubled, Offset: -1}, s, t)
		return
	}
	if at := m.sameRow(s.place, t.id); at != 0 {
		m.seen[at] = true
		m.fault(RowFault{Kind: Altered, Offset: m.list[at].identity}, s, t)
		return
	}
	m.unproduced(s, t)
}

// unproduced judges what the log does not hold.
func (m *match) unproduced(s *segmentCheck, t item) {
	if l := m.want.logs[s.seg.VChannel]; l.unread(s.seg.Start.Offset, s.seg.End.Offset) {
		m.report.Unread++
		return
	}
	m.fault(RowFault{Kind: Unknown, Offset: -1}, s, t)
}

// delete finds what was produced for a stored delete.
func (m *match) delete(s *segmentCheck, t item) {
	at, known := m.take(t.digest, s.mayBe, func(e *entry) bool { return e.id > s.lastID && s.holds(e.identity) })
	if at == 0 && s.tail {
		m.report.CutOff++
		return
	}
	if at == 0 {
		s.unknowns = true
		if known {
			m.fault(RowFault{Kind: Doubled, Offset: -1}, s, t)
		} else {
			m.unproduced(s, t)
		}
		return
	}
	e := &m.list[at]
	m.report.Deletes++
	s.inRange(e, t)
	if e.doubt != certain {
		return // its first copy's place is unknown
	}
	if e.id < s.lastID {
		s.wrong("the delete of offset %d stands after a later one", e.identity)
	}
	s.lastID = e.id
}

// holds says whether a record with this identity is the segment's to hold.
func (s *segmentCheck) holds(identity int64) bool {
	return identity < 0 || identity >= s.seg.Start.Offset && identity < s.end
}

// mayBe says whether a stored row may be of this record at all. What a segment
// holds of an end that the log has lost is not what a producer sent once more
// behind the cut.
func (s *segmentCheck) mayBe(e *entry) bool { return !s.tail || e.identity < s.end }

func (s *segmentCheck) inRange(e *entry, t item) {
	if e.identity < 0 || e.doubt != certain {
		s.unknowns = true
		return
	}
	s.first = min(s.first, e.identity)
	if !s.holds(e.identity) {
		s.fault(RowFault{Kind: OutOfRange, Offset: e.identity}, s, t)
	}
}

// missing tells what was produced and not found, a line a record.
func (m *match) missing() {
	var list []*entry
	for i := range m.list {
		if i > 0 && !m.seen[i] {
			list = append(list, &m.list[i])
		}
	}
	slices.SortFunc(list, compareEntries)
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].kind == list[0].kind && sameRecord(list[n], list[0]) {
			n++
		}
		switch {
		case m.archive.expired[m.want.places[list[0].place].collection]:
			m.report.Removed += int64(n)
		case m.mayBePending(list[0]):
			m.report.Pending += int64(n)
		default:
			m.lost(list[:n])
		}
		list = list[n:]
	}
}

func compareEntries(x, y *entry) int {
	return cmp.Or(cmp.Compare(x.place, y.place), cmp.Compare(x.identity, y.identity), cmp.Compare(x.kind, y.kind),
		cmp.Compare(x.segment, y.segment), cmp.Compare(x.id, y.id))
}

func sameRecord(x, y *entry) bool {
	return x.place == y.place && x.identity == y.identity && x.segment == y.segment
}

// mayBePending says whether a row that is not there is above all positions
// that would keep a restart from reading it.
func (c *check) mayBePending(e *entry) bool {
	if e.doubt == perhapsLeftOut {
		return true
	}
	if !c.partial || e.identity < 0 {
		return c.partial
	}
	p := c.want.places[e.place]
	doc := c.archive.doc(p.log.vchannel)
	if doc == nil {
		return c.archive.VChannel(p.log.vchannel) == nil
	}
	if e.identity < doc.Seek.Offset || e.identity < doc.ReadFrom.Offset {
		return false
	}
	if ref := c.refs[checkpoints.SegmentRef{Collection: p.collection, Partition: p.partition, Segment: e.segment}]; ref != nil && e.kind == rowEntry {
		if !ref.sealed || e.identity < ref.end {
			return e.identity >= ref.end
		}
	} else if e.kind == rowEntry && e.segment != 0 {
		return true
	}
	return e.identity >= autoEnd(doc, p, e.kind)
}

// autoEnd is the offset below which what goes to auto segments is persisted.
func autoEnd(doc *checkpoints.Document, p placeOf, kind entryKind) int64 {
	c := doc.Collections[p.collection]
	if c == nil || c.Partitions[p.partition] == nil {
		return 0
	}
	if kind == deleteEntry {
		return c.Partitions[p.partition].AutoEndDelete
	}
	return c.Partitions[p.partition].AutoEnd
}
