package stages

import "flowgraph/checkpoints"

// OpenSegment is what a buffer holds of one open segment, for people.
type OpenSegment struct {
	ID, Collection, Partition int64
	PartitionName             string // "" if no insert named it
	Level                     checkpoints.Level
	Auto                      bool
	State                     checkpoints.State
	Start, End                checkpoints.Position // as of the last cut; End is zero before the first
	FirstTime, LastTime       int64                // log time of its rows, Unix ms; 0 if none was placed in this life
	Rows, Bytes               int64                // buffered; bytes in PLAIN layout
	First                     checkpoints.Position // smallest identity buffered; zero if nothing is
	Since                     int64                // wall time of the oldest buffered row, Unix ms
}

// Open lists the open segments by ID. It costs time and memory for each of
// them, and is for whoever runs Step, between two steps.
func (b *Buffer) Open() []OpenSegment {
	out := make([]OpenSegment, 0, len(b.open))
	for _, s := range b.inOrder() {
		o := OpenSegment{
			ID: s.meta.ID, Collection: s.meta.Collection, Partition: s.meta.Partition, PartitionName: s.partitionName,
			Level: s.meta.Level, Auto: s.meta.Auto, State: s.meta.State, Start: s.meta.Start, End: s.meta.End,
			FirstTime: s.meta.FirstTime, LastTime: s.meta.LastTime,
		}
		if rows := s.rows(); rows > 0 {
			o.Rows, o.Bytes, o.First, o.Since = rows, s.bytes, s.first, s.since
		}
		out = append(out, o)
	}
	return out
}
