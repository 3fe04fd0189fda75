package stages

import (
	"time"

	"flowgraph/checkpoints"
)

// Limits are the thresholds of the policies. Sizes are bytes in memory.
type Limits struct {
	FlushBytes       int64         // of one segment's buffered rows
	FlushDeleteBytes int64         // the same, of deletes
	FlushAge         time.Duration // of the oldest unpersisted row
	SegmentBytes     int64         // auto segments are sealed at this size ...
	SegmentRows      int64         // ... this many rows (0: no limit) ...
	SegmentAge       time.Duration // ... or this long after their first row, in log time
	IdleSeal         time.Duration // an assigned segment without rows for so long, in log time
	SuccessorSeal    time.Duration // the same once a newer segment of its partition has appeared
}

// DefaultLimits are the defaults.
func DefaultLimits() Limits {
	return Limits{
		FlushBytes: 64 << 20, FlushDeleteBytes: 16 << 20, FlushAge: 10 * time.Minute,
		SegmentBytes: 1 << 30, SegmentAge: 24 * time.Hour,
		IdleSeal: 24 * time.Hour, SuccessorSeal: 10 * time.Minute,
	}
}

// Stats is what a policy sees of a segment.
type Stats struct {
	Level     checkpoints.Level
	Auto      bool
	Buffered  int64   // bytes
	Total     int64   // bytes, buffered and flushed
	Rows      int64   // the same, rows
	Since     int64   // wall time of the oldest buffered row, Unix ms; 0 if none
	Jitter    float64 // 0 to 1, fixed for this buffer's filling
	FirstTime int64   // log time, Unix ms
	LastTime  int64
	Succeeded bool // a newer segment of its partition has appeared
}

// Clock is the time as the pack carries it.
type Clock struct {
	Wall int64 // Unix ms
	Log  int64 // Kafka timestamp of the newest record handled, Unix ms
}

// Policy decides when a segment is cut. It reads and never changes anything.
type Policy struct {
	Reason Reason
	Seal   bool // the cut is its last one
	Wants  func(Stats, Clock) bool
}

// policies are grouped by when they can newly apply: after rows were placed,
// as wall time passes over buffered rows, and as log time passes.
type policies struct{ placed, aged, logged []Policy }

func newPolicies(l Limits) policies {
	return policies{
		placed: []Policy{
			{Sealed, true, func(s Stats, _ Clock) bool { return s.Auto && s.Total >= l.SegmentBytes }},
			{Sealed, true, func(s Stats, _ Clock) bool { return s.Auto && l.SegmentRows > 0 && s.Rows >= l.SegmentRows }},
			{BufferFull, false, func(s Stats, _ Clock) bool {
				if s.Level == checkpoints.L0 {
					return s.Buffered >= l.FlushDeleteBytes
				}
				return s.Buffered >= l.FlushBytes
			}},
		},
		aged: []Policy{
			// Up to a tenth of jitter, so that segments met together do not flush together.
			{BufferStale, false, func(s Stats, c Clock) bool {
				return s.Since != 0 && float64(c.Wall-s.Since) >= float64(l.FlushAge.Milliseconds())*(1+0.1*s.Jitter)
			}},
		},
		logged: []Policy{
			{Sealed, true, func(s Stats, c Clock) bool {
				return s.Auto && c.Log-s.FirstTime >= l.SegmentAge.Milliseconds()
			}},
			{Sealed, true, func(s Stats, c Clock) bool {
				return !s.Auto && c.Log-s.LastTime >= l.IdleSeal.Milliseconds()
			}},
			{Sealed, true, func(s Stats, c Clock) bool {
				return !s.Auto && s.Succeeded && c.Log-s.LastTime >= l.SuccessorSeal.Milliseconds()
			}},
		},
	}
}

// first returns the first policy of a group that wants the segment cut.
func first(group []Policy, s Stats, c Clock) (Policy, bool) {
	for _, p := range group {
		if p.Wants(s, c) {
			return p, true
		}
	}
	return Policy{}, false
}
