package archive

import (
	"fmt"
	"strings"
)

// FaultKind is what is wrong with a row or delete.
type FaultKind string

const (
	Lost       FaultKind = "lost"         // it was produced and is not stored
	Doubled    FaultKind = "doubled"      // it is stored more often than it was produced
	Altered    FaultKind = "altered"      // it is stored with another content
	Unknown    FaultKind = "unknown"      // nothing like it was produced there
	Misplaced  FaultKind = "misplaced"    // it belongs to another segment
	OutOfRange FaultKind = "out_of_range" // its offset is outside of what its segment says it holds
)

// RowFault names rows or deletes that are wrong.
type RowFault struct {
	Kind       FaultKind `json:"kind"`
	Deletes    bool      `json:"deletes"` // else rows
	VChannel   string    `json:"vchannel"`
	Offset     int64     `json:"offset"` // of the record that decides about them; -1: unknown
	Collection int64     `json:"collection,string"`
	Partition  int64     `json:"partition,string"`
	Segment    int64     `json:"segment,string"` // where they are stored, or of lost ones where they belong; 0: any
	Instead    int64     `json:"instead,string"` // with Misplaced: where they belong
	Count      int64     `json:"count"`
	RowIDs     []string  `json:"row_ids,omitempty"` // of rows, the first ones
	Timestamp  uint64    `json:"timestamp,string"`  // of a stored delete, hybrid
}

// namedRows is how many rows of one record are named.
const namedRows = 20

// String is the fault for people.
func (f RowFault) String() string {
	where := fmt.Sprintf("segment %d of %d/%d: ", f.Segment, f.Collection, f.Partition)
	what := "row ID " + strings.Join(f.RowIDs, ", ")
	if f.Deletes {
		what = fmt.Sprintf("a delete with timestamp %d", f.Timestamp)
	}
	switch f.Kind {
	case Lost:
		if f.Deletes {
			return fmt.Sprintf("%s offset %d: %d deletes of collection %d, partition %d are missing", f.VChannel, f.Offset, f.Count, f.Collection, f.Partition)
		}
		more := ""
		if f.Count > int64(len(f.RowIDs)) {
			more = ", ..."
		}
		return fmt.Sprintf("%s offset %d: %d rows of segment %d of %d/%d are missing: row IDs %s%s",
			f.VChannel, f.Offset, f.Count, f.Segment, f.Collection, f.Partition, strings.Join(f.RowIDs, ", "), more)
	case Doubled:
		return where + what + " is there more often than it was produced"
	case Altered:
		return fmt.Sprintf("%s%s differs from what offset %d of %s holds", where, what, f.Offset, f.VChannel)
	case Misplaced:
		return fmt.Sprintf("%s%s of offset %d of %s belongs to segment %d", where, what, f.Offset, f.VChannel, f.Instead)
	case OutOfRange:
		return fmt.Sprintf("%s%s of offset %d of %s is outside its range", where, what, f.Offset, f.VChannel)
	}
	return where + what + " was not produced there"
}

// fault notes something wrong with a stored row or delete.
func (c *check) fault(f RowFault, s *segmentCheck, t item) {
	f.VChannel, f.Collection, f.Partition, f.Segment = s.seg.VChannel, s.seg.Collection, s.seg.Partition, s.seg.ID
	f.Count, f.Deletes = 1, t.kind == deleteEntry
	if f.Deletes {
		f.Timestamp = uint64(t.id)
	} else {
		f.RowIDs = []string{fmt.Sprint(t.id)}
	}
	c.report.fault(f, s.rangeText())
}

func (s *segmentCheck) rangeText() string {
	return fmt.Sprintf(" [%d, %d)", s.seg.Start.Offset, s.seg.End.Offset)
}

// lost notes rows or deletes of one record that are not stored.
func (m *match) lost(list []*entry) {
	e := list[0]
	p := m.want.places[e.place]
	f := RowFault{
		Kind: Lost, Deletes: e.kind == deleteEntry, VChannel: p.log.vchannel, Offset: e.identity,
		Collection: p.collection, Partition: p.partition, Segment: e.segment, Count: int64(len(list)),
	}
	for _, e := range list[:min(len(list), namedRows)] {
		if !f.Deletes {
			f.RowIDs = append(f.RowIDs, fmt.Sprint(e.id))
		}
	}
	m.report.fault(f, "")
}

// fault notes a row's fault and counts it as a problem.
func (r *Report) fault(f RowFault, segmentRange string) {
	switch f.Kind {
	case Lost:
		r.Lost += f.Count
	case Doubled:
		r.Doubled += f.Count
	case Altered:
		r.Altered += f.Count
	}
	text := f.String()
	if f.Kind == OutOfRange {
		text += segmentRange
	}
	if len(r.Faults) < r.limit {
		r.Faults = append(r.Faults, f)
	}
	r.problem("%s", text)
}
