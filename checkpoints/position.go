// Package checkpoints holds what one vchannel has persisted: positions, the
// stored document, its compare-and-set store and the tracker that turns
// acknowledgments into commits. It imports nothing else of this module.
package checkpoints

import "cmp"

// Position is a place in a vchannel: always the next offset to read, so that
// ranges of positions are half-open. Offset 0 is an ordinary offset.
type Position struct {
	Offset      int64  `json:"offset"`
	LeaderEpoch int32  `json:"leader_epoch"`
	Tick        uint64 `json:"tick,string"` // value of the last time tick before it: the log is complete up to here
}

// Compare orders positions by offset alone; timestamps never decide.
func (p Position) Compare(q Position) int { return cmp.Compare(p.Offset, q.Offset) }

// Earlier returns the smaller of two positions, p if they are equal.
func (p Position) Earlier(q Position) Position {
	if q.Offset < p.Offset {
		return q
	}
	return p
}

// Later returns the greater of two positions, p if they are equal.
func (p Position) Later(q Position) Position {
	if q.Offset > p.Offset {
		return q
	}
	return p
}

// After is the next offset to read once the record at offset is handled. It
// is the only place that adds to an offset.
func After(offset int64) int64 { return offset + 1 }

// Last is the offset of the last record before the next offset to read, for
// people and for APIs that count inclusively.
func Last(next int64) int64 { return next - 1 }
