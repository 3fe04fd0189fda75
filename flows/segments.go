package flows

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"flowgraph/checkpoints"
	"flowgraph/stages"
)

// SegmentStatus is what people and programs see of one segment: what is
// persisted of it, what is on its way and what is buffered. Offsets are of
// its vchannel, ranges half-open; one that is missing is null.
type SegmentStatus struct {
	VChannel      string `json:"vchannel"`
	ID            string `json:"id"`
	Collection    string `json:"collection"` // name, or the ID while none is known
	CollectionID  string `json:"collection_id"`
	Partition     string `json:"partition"` // the same; (all) for deletes that concern all partitions
	PartitionID   string `json:"partition_id"`
	Level         string `json:"level"` // L1: rows, L0: deletes
	Auto          bool   `json:"auto"`  // its ID was not chosen by Milvus
	State         string `json:"state"` // new, normal, flushed, dropped
	Rows          int64  `json:"rows"`  // persisted
	Bytes         int64  `json:"bytes"` // of its files
	FlushingRows  int64  `json:"flushing_rows"`
	FlushingBytes int64  `json:"flushing_bytes"` // memory
	BufferedRows  int64  `json:"buffered_rows"`
	BufferedBytes int64  `json:"buffered_bytes"` // before encoding

	// Start is the first row of all; what is persisted ends at PersistedEnd,
	// what is on its way at FlushingEnd, what is buffered at BufferedEnd.
	Start        *int64 `json:"start"`
	PersistedEnd *int64 `json:"persisted_end"`
	FlushingEnd  *int64 `json:"flushing_end"`
	BufferedEnd  *int64 `json:"buffered_end"`
	// Position is the first row not persisted: the p of this segment. The
	// smallest of all is where the seek position can get.
	Position *int64 `json:"position"`
	Pins     bool   `json:"pins"` // it is the one that holds the seek position back

	FirstRow      *time.Time `json:"first_row"` // log time
	LastRow       *time.Time `json:"last_row"`
	BufferedSince *time.Time `json:"buffered_since"` // of the oldest buffered row
	LastFlush     *LastFlush `json:"last_flush"`     // by this process
}

// LastFlush is the newest flush of a segment.
type LastFlush struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
	Rows   int64     `json:"rows"`
	Bytes  int64     `json:"bytes"` // of its files
	TookMS int64     `json:"took_ms"`
}

// segments joins what the document, the flights and the buffer's view say, in
// the order of their positions: what holds the seek position back comes first.
func (f *flowStatus) segments() []SegmentStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tracker == nil {
		return nil
	}
	doc := f.tracker.View()
	all := make(map[int64]*SegmentStatus, len(doc.Segments))
	for id, s := range doc.Segments {
		all[id] = f.persisted(doc, s)
	}
	if v := f.views.last.Load(); v != nil {
		since := f.cutSince(v)
		for i := range v.open {
			f.buffered(doc, all, v, &v.open[i], since)
		}
	}
	for _, a := range f.views.flights {
		if s := all[a.segment]; s != nil {
			s.fly(a)
		}
	}
	out := make([]SegmentStatus, 0, len(all))
	for _, s := range all {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b SegmentStatus) int {
		return cmp.Or(compareOffsets(a.Position, b.Position), compareOffsets(a.Start, b.Start), cmp.Compare(a.ID, b.ID))
	})
	if len(out) > 0 && out[0].Position != nil {
		out[0].Pins = true
	}
	return out
}

// persisted is what the document says of a segment.
func (f *flowStatus) persisted(doc *checkpoints.Document, s *checkpoints.Segment) *SegmentStatus {
	out := f.segment(doc, s.ID, s.Collection, s.Partition, "")
	out.Level, out.Auto, out.State = s.Level.String(), s.Auto, s.State.String()
	out.Rows, out.Bytes = s.Rows, s.Bytes
	out.Start = offset(s.Start.Offset)
	if s.Rows > 0 || s.State >= checkpoints.Flushed {
		out.PersistedEnd = offset(s.End.Offset)
	}
	out.FirstRow, out.LastRow = logTime(s.FirstTime), logTime(s.LastTime)
	return out
}

// segment is the part that names it.
func (f *flowStatus) segment(doc *checkpoints.Document, id, collection, partition int64, name string) *SegmentStatus {
	c, p := doc.Names(collection, partition)
	out := &SegmentStatus{
		VChannel: f.vchannel.Name(), ID: strconv.FormatInt(id, 10),
		Collection: nameOr(c, collection), CollectionID: strconv.FormatInt(collection, 10),
		Partition: partitionName(cmp.Or(p, name), partition), PartitionID: strconv.FormatInt(partition, 10),
	}
	if l, ok := f.views.landings[id]; ok {
		out.LastFlush = &l.last
	}
	return out
}

// cutSince are the segments whose rows have left the buffer after the view:
// they are in flight, or in the document.
func (f *flowStatus) cutSince(v *view) map[int64]bool {
	since := map[int64]bool{}
	for _, a := range f.views.flights {
		if a.seq > v.seq {
			since[a.segment] = true
		}
	}
	for id, l := range f.views.landings {
		if l.seq > v.seq {
			since[id] = true
		}
	}
	return since
}

// buffered adds what the buffer held, and holds still.
func (f *flowStatus) buffered(doc *checkpoints.Document, all map[int64]*SegmentStatus, v *view, o *stages.OpenSegment, cut map[int64]bool) {
	s := all[o.ID]
	if s == nil {
		if o.State > checkpoints.New {
			return // it has left the document since
		}
		s = f.segment(doc, o.ID, o.Collection, o.Partition, o.PartitionName)
		s.Level, s.Auto, s.State = o.Level.String(), o.Auto, o.State.String()
		s.Start, s.FirstRow, s.LastRow = offset(o.Start.Offset), logTime(o.FirstTime), logTime(o.LastTime)
		all[o.ID] = s
	}
	if s.Partition == s.PartitionID && o.PartitionName != "" {
		s.Partition = o.PartitionName // the document learns it with the first flush
	}
	if o.Rows == 0 || cut[o.ID] {
		return
	}
	s.BufferedRows, s.BufferedBytes = o.Rows, o.Bytes
	s.BufferedEnd, s.Position = offset(v.read), offset(o.First.Offset)
	s.BufferedSince = logTime(o.Since)
	if o.LastTime > 0 {
		s.LastRow = logTime(o.LastTime)
	}
}

// fly adds what is on its way to the store.
func (s *SegmentStatus) fly(a flight) {
	s.FlushingRows += a.rows
	s.FlushingBytes += a.bytes
	if s.FlushingEnd == nil || a.end > *s.FlushingEnd {
		s.FlushingEnd = offset(a.end)
	}
	if s.Position == nil || a.first.Offset < *s.Position {
		s.Position = offset(a.first.Offset)
	}
}

func offset(n int64) *int64 { return &n }

// logTime is a time of which 0 means that there is none.
func logTime(ms int64) *time.Time {
	if ms == 0 {
		return nil
	}
	t := time.UnixMilli(ms)
	return &t
}

// compareOffsets puts what is missing last.
func compareOffsets(a, b *int64) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return cmp.Compare(*a, *b)
}
