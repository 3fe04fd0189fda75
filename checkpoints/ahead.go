package checkpoints

import (
	"fmt"
	"strconv"
)

// Sealed is what a manifest says that a document can be held against.
type Sealed struct {
	SegmentRef
	Level      Level
	Auto       bool
	Start, End Position
	Generation int   // of the log, see Segment
	Epoch      int64 // the largest of the claims that wrote its files
}

// Sealed is the segment as its manifest shows it.
func (s *Segment) Sealed() Sealed {
	out := Sealed{SegmentRef: SegmentRef{s.Collection, s.Partition, s.ID}, Level: s.Level, Auto: s.Auto,
		Start: s.Start, End: s.End, Generation: s.Generation}
	for _, l := range s.Logs {
		out.Epoch = max(out.Epoch, EpochOf(l.ID))
	}
	for _, c := range s.Chunks {
		out.Epoch = max(out.Epoch, EpochOf(c))
	}
	return out
}

// EpochOf is the epoch of the claim that drew a log ID, 0 if it is none.
func EpochOf(logID string) int64 {
	if !isLogID(logID) {
		return 0
	}
	n, _ := strconv.ParseInt(logID[1:8], 10, 64) // digits, as isLogID has seen
	return n
}

// Ahead says why the document cannot have seen a manifest of its log, and
// must be older than it; "" if nothing tells. A manifest is written only for
// what a committed document shows as final, and every later document knows:
// that the segment is not open, an AutoEnd that covers it, its place, its
// epoch, and that reading got as far.
func (d *Document) Ahead(m Sealed) string {
	s, where := d.Segments[m.Segment], fmt.Sprintf("segment %d of %d/%d", m.Segment, m.Collection, m.Partition)
	place, end := d.place(m.Collection, m.Partition), d.Kept(m.Generation, m.End).Offset
	switch {
	case m.Generation > d.Generation():
		return fmt.Sprintf("its log was cut back %d times, that of %s %d times", d.Generation(), where, m.Generation)
	case m.Epoch > d.lastEpoch():
		return fmt.Sprintf("it is of epoch %d, %s has files of epoch %d", d.lastEpoch(), where, m.Epoch)
	case s != nil && s.State < Flushed:
		return fmt.Sprintf("%s is open in it and ends at %d, its manifest ends at %d", where, s.End.Offset, end)
	case place == nil:
		return fmt.Sprintf("it knows nothing of collection %d, partition %d, where segment %d ends at %d", m.Collection, m.Partition, m.Segment, end)
	case m.Auto && end > place.ofLevel(m.Level):
		return fmt.Sprintf("collection %d, partition %d: its auto end is %d, an auto segment ends at %d", m.Collection, m.Partition, place.ofLevel(m.Level), end)
	case s == nil && !m.Auto && d.Reached.Offset > 0 && end > d.Reached.Offset && m.Start.Offset >= d.Seek.Offset:
		// What had left the document was below Reached, and of a segment of which
		// it holds nothing no row lies below its seek position. Documents of
		// earlier releases have no Reached.
		return fmt.Sprintf("it has reached %d, %s ends at %d", d.Reached.Offset, where, end)
	}
	return ""
}

// lastEpoch is that of the last claim of which the document can know anything.
func (d *Document) lastEpoch() int64 {
	if d.Unsettled > 0 {
		return d.Unsettled
	}
	return d.Epoch
}

func (d *Document) place(collection, partition int64) *Partition {
	if c := d.Collections[collection]; c != nil {
		return c.Partitions[partition]
	}
	return nil
}

// AheadOfEvent is Ahead for a DDL event that is stored as an object: the last
// event of each collection is in every document since.
func (d *Document) AheadOfEvent(e *Event) string {
	switch c := d.Collections[e.Collection]; {
	case e.Generation < d.Generation(): // it knows of a later one
		return ""
	case e.Generation > d.Generation():
		return fmt.Sprintf("its log was cut back %d times, a DDL event is stored of after %d times", d.Generation(), e.Generation)
	case c == nil:
		return fmt.Sprintf("it knows nothing of collection %d, of which a DDL event is stored at offset %d", e.Collection, e.Offset)
	case e.Offset > c.LastDDL:
		return fmt.Sprintf("collection %d: its last DDL event is at %d, one is stored at %d", e.Collection, c.LastDDL, e.Offset)
	}
	return ""
}
