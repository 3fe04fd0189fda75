package stages

import (
	"context"
	"fmt"

	"flowgraph/checkpoints"
)

// Lookup asks the store for segments that the document does not know. It
// answers for every ID or returns an error; it waits while the store does.
type Lookup func(ctx context.Context, refs []checkpoints.SegmentRef) (map[int64]checkpoints.Known, error)

// Filter is the position filter: it drops what is persisted and routes the
// rest. Identities decide, timestamps never do. A row for an assigned segment
// is dropped iff its identity is below the segment's End; one for an auto
// segment iff it is below the AutoEnd of its partition and level. Nothing below
// the seek position is new: what is not persisted there is a repeat of what is,
// read from between the two.
type Filter struct {
	lookup   Lookup
	seek     int64 // below it all is persisted, in quarantine or without effect
	reached  int64 // below it the Ends of the document decide
	segments *recent[known]
	remember int // segments met before one is forgotten
	places   map[place]ends
	drops    map[place]int64 // offset of the drop; partition allPartitions for a collection
	// schemas are the offsets of the collections' schemas. What lies before one
	// was cut or put into quarantine with it; a bad record read again would be
	// held against a schema that it was not written under, and might fit.
	schemas map[int64]int64
}

// place is a partition of a collection.
type place struct{ collection, partition int64 }

// wholeCollection stands for the drop of a collection in place.partition.
// Partition IDs on the wire are positive, or -1 for deletes in all of them.
const wholeCollection = -2

type known struct {
	place
	end     int64
	flushed bool
}

type ends struct{ rows, deletes int64 }

// NewFilter returns a filter seeded from the document that the flow claimed.
func NewFilter(doc *checkpoints.Document, lookup Lookup) *Filter {
	f := &Filter{
		lookup: lookup, seek: doc.Seek.Offset, reached: doc.Covered().Offset,
		segments: newRecent[known](), remember: rememberedSegments, places: map[place]ends{}, drops: map[place]int64{}, schemas: map[int64]int64{},
	}
	for id, s := range doc.Segments {
		f.segments.put(id, known{place{s.Collection, s.Partition}, doc.EndOf(s).Offset, s.State >= checkpoints.Flushed})
	}
	for id, c := range doc.Collections {
		f.schemas[id] = c.SchemaOffset
		if c.Dropped != nil {
			f.drops[place{id, wholeCollection}] = c.Dropped.Offset
		}
		for pid, p := range c.Partitions {
			f.places[place{id, pid}] = ends{p.AutoEnd, p.AutoEndDelete}
			if p.Dropped != nil {
				f.drops[place{id, pid}] = p.Dropped.Offset
			}
		}
	}
	return f
}

// Step drops and routes the messages of one pack.
func (f *Filter) Step(ctx context.Context, p *Pack) ([]*Pack, error) {
	if p.Event != nil {
		f.event(p.Event)
		return []*Pack{p}, nil
	}
	f.forget(p)
	if err := f.meet(ctx, p); err != nil {
		return nil, err
	}
	kept := 0
	for i := range p.Messages {
		m := &p.Messages[i]
		if !f.keep(m, &p.Counts) {
			continue
		}
		if kept < i {
			p.Messages[kept] = *m
		}
		kept++
	}
	clear(p.Messages[kept:])
	p.Messages = p.Messages[:kept]
	return []*Pack{p}, nil
}

// event remembers drops: what follows them in the log has no place.
func (f *Filter) event(e *Event) {
	at := place{e.Collection, wholeCollection}
	switch {
	case e.Seal != nil:
		return
	case e.Kind == checkpoints.DropPartition:
		at.partition = e.Partition
	case e.Kind != checkpoints.DropCollection:
		return
	}
	if _, ok := f.drops[at]; !ok {
		f.drops[at] = e.Offset
	}
}

// forget lets go of segments that were not named for long, between packs only:
// all that a pack names are known while it is filtered. Above what the document
// reaches it has nothing to add to what the store answers: there no row is
// persisted, and an open segment is as good as one never met.
func (f *Filter) forget(p *Pack) {
	if len(f.segments.young) >= f.remember && p.Start.Offset >= f.reached {
		f.segments.turn(f.segments.turns + 1)
	}
	p.Turn = f.segments.turns
}

// meet looks up the segments that this pack names for the first time.
func (f *Filter) meet(ctx context.Context, p *Pack) error {
	var refs []checkpoints.SegmentRef
	asked := map[int64]bool{}
	for i := range p.Messages {
		m := p.Messages[i].Insert
		if m == nil || m.Segment == 0 || asked[m.Segment] {
			continue
		}
		if _, ok := f.segments.get(m.Segment); ok || f.dropped(place{m.Collection, m.Partition}) {
			continue
		}
		asked[m.Segment] = true
		refs = append(refs, checkpoints.SegmentRef{Collection: m.Collection, Partition: m.Partition, Segment: m.Segment})
	}
	if len(refs) == 0 {
		return nil
	}
	answers, err := f.lookup(ctx, refs)
	if err != nil {
		return fmt.Errorf("look up segments: %w", err)
	}
	for _, r := range refs {
		a := answers[r.Segment]
		f.segments.put(r.Segment, known{place{r.Collection, r.Partition}, a.End.Offset, a.State >= checkpoints.Flushed})
	}
	return nil
}

func (f *Filter) dropped(at place) bool {
	if _, ok := f.drops[at]; ok {
		return true
	}
	_, ok := f.drops[place{at.collection, wholeCollection}]
	return ok
}

// keep decides about one message and routes it.
func (f *Filter) keep(m *Message, n *Counts) bool {
	switch {
	case m.Insert != nil:
		return f.insert(m, n)
	case m.Delete != nil:
		at := place{m.Delete.Collection, m.Delete.Partition}
		if f.dropped(at) {
			return f.afterDrop(m, at, int64(m.Delete.Rows), n)
		}
		m.Route = Auto
		end := max(f.places[at].deletes, f.schemas[at.collection])
		return !f.persisted(m, end, int64(m.Delete.Rows), n)
	}
	return m.Identity.Offset >= f.seek
}

// foreign is the reason of a row whose segment belongs to another place.
func foreign(segment int64, is, said place) string {
	return fmt.Sprintf("segment %d belongs to collection %d, partition %d, not to collection %d, partition %d",
		segment, is.collection, is.partition, said.collection, said.partition)
}

func (f *Filter) insert(m *Message, n *Counts) bool {
	in, rows := m.Insert, int64(m.Insert.Rows)
	at := place{in.Collection, in.Partition}
	if f.dropped(at) {
		return f.afterDrop(m, at, rows, n)
	}
	if f.persisted(m, f.schemas[at.collection], rows, n) {
		return false
	}
	if in.Segment != 0 {
		s, _ := f.segments.get(in.Segment)
		if s.place != at {
			m.Bad = foreign(in.Segment, s.place, at)
			m.Insert = nil
			return m.Identity.Offset >= f.seek
		}
		f.segments.touch(in.Segment, s)
		if f.persisted(m, s.end, rows, n) {
			return false
		}
		if !s.flushed {
			return true
		}
		m.Route = Rerouted
	} else {
		m.Route = Auto
	}
	return !f.persisted(m, f.places[at].rows, rows, n)
}

func (f *Filter) persisted(m *Message, end, rows int64, n *Counts) bool {
	if m.Identity.Offset >= max(end, f.seek) {
		return false
	}
	n.Filtered += rows
	return true
}

// afterDrop leaves a message out: what lies before the drop is persisted by
// the drop's own cuts, what lies at or after it has no place any more.
func (f *Filter) afterDrop(m *Message, at place, rows int64, n *Counts) bool {
	d, ok := f.drops[at]
	if c, whole := f.drops[place{at.collection, wholeCollection}]; whole && (!ok || c < d) {
		d = c
	}
	if m.Identity.Offset < d {
		n.Filtered += rows
	} else {
		n.AfterDrop += rows
	}
	return false
}
