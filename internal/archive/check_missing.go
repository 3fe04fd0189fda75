package archive

import (
	"context"

	"flowgraph/checkpoints"
)

// missing tells what was produced and not found, a line a record.
func (c *check) missing(context.Context) error {
	list := c.want.rows.list
	for i := 1; i < len(list); {
		e, rows := &list[i], int64(0)
		for ; i < len(list) && list[i].kind == e.kind && list[i].identity == e.identity && list[i].place == e.place && list[i].segment == e.segment; i++ {
			if !c.found.seen[i] {
				rows++
			}
		}
		if rows == 0 {
			continue
		}
		if c.mayBePending(e) {
			c.report.Pending += rows
			continue
		}
		p := c.want.places[e.place]
		if e.kind == deleteEntry {
			c.problem("%s offset %d: %d deletes of collection %d, partition %d are missing", p.log.vchannel, e.identity, rows, p.collection, p.partition)
		} else {
			c.problem("%s offset %d: %d rows of segment %d of %d/%d are missing", p.log.vchannel, e.identity, rows, e.segment, p.collection, p.partition)
		}
	}
	return nil
}

// mayBePending says whether a row that is not there is above all positions
// that would keep a restart from reading it.
func (c *check) mayBePending(e *entry) bool {
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
