package stages

import (
	"hash/fnv"
	"strconv"

	"flowgraph/checkpoints"
	"flowgraph/stages/column"
)

// cut takes a segment's buffered rows. With seal it is the segment's last
// cut, taken at once even if nothing is buffered: only so can later rows be
// rerouted and no segment mixes two schemas.
func (b *Buffer) cut(s *segment, reason Reason, seal bool) {
	c := &Cut{Reason: reason, Columns: s.columns, Bytes: s.held}
	s.meta.End = s.meta.End.Later(b.pack.End)
	flush := &checkpoints.Flush{Sealed: seal, PartitionName: s.partitionName}
	if c := b.collections[s.meta.Collection]; c != nil {
		flush.Channel = c.channel
	}
	if rows := s.rows(); rows > 0 {
		c.LogID, c.First, c.Since = b.cfg.Names.LogID(), s.first, s.since
		flush.Log = &checkpoints.Log{ID: c.LogID, Rows: rows, MinTS: s.minTS, MaxTS: s.maxTS}
		s.meta.State = max(s.meta.State, checkpoints.Normal)
		s.meta.Rows += rows
		if s.meta.Level == checkpoints.L1 {
			s.meta.Fields = fieldIDs(s.columns)
			if s.meta.Rows == rows { // the first flush decides: a segment does not mix flushes with and without statistics
				s.meta.PKField = keyField(s.columns)
			}
		}
		b.buffered.leave(s)
		b.held -= s.held
		s.flushed += s.bytes
		s.columns, s.bytes, s.held = nil, 0, 0
	}
	if seal {
		if s.meta.State == checkpoints.New { // nothing is in it: the Start of an earlier life may lie beyond the End
			s.meta.Start = s.meta.End
		}
		s.meta.State = checkpoints.Flushed
		delete(b.open, s.meta.ID)
		if s.unwanted {
			b.unwanted--
		}
		if key := (autoKey{s.place(), s.meta.Level}); b.auto[key] == s {
			delete(b.auto, key)
		} else {
			b.sealed.put(s.meta.ID, struct{}{})
		}
	}
	flush.Segment = s.meta
	c.Change.Flush = flush
	b.emit(c)
}

func fieldIDs(columns []*column.Column) []int64 {
	ids := make([]int64, len(columns))
	for i, c := range columns {
		ids[i] = c.Field.ID
	}
	return ids
}

// keyField is the field of which a flush has key statistics; 0: none.
func keyField(columns []*column.Column) int64 {
	for _, c := range columns {
		if c.Field.HasKeyStats() {
			return c.Field.ID
		}
	}
	return 0
}

// emit numbers a cut and gives it the low-water marks as they are after it,
// and whatever has to be stored before the position passes this pack.
func (b *Buffer) emit(c *Cut) {
	b.seq++
	c.Seq = b.seq
	seek, readFrom := b.pack.End, b.pack.HoldAfter
	if b.limit != nil {
		seek, readFrom = b.limit.Earlier(seek), b.pack.Hold
	}
	if s := b.buffered.head; s != nil {
		seek, readFrom = s.first.Earlier(seek), s.hold.Earlier(readFrom)
	}
	c.Change.Seek, c.Change.ReadFrom = seek, readFrom.Earlier(seek)
	c.Change.End = b.pack.End
	c.Change.New, b.met = b.met, nil
	c.Bad, b.bad = b.bad, nil
	c.Counts, b.counts = b.counts, Counts{}
	for i := range c.Bad {
		c.Bytes += int64(len(c.Bad[i].Record.Value))
	}
	b.out = append(b.out, c)
}

// apply lets the policies choose at a pack's end.
func (b *Buffer) apply() {
	clock := Clock{Wall: b.wall, Log: b.lastLog}
	for _, s := range b.touched {
		b.ask(b.policies.placed, s, clock)
	}
	for s := b.buffered.head; s != nil; { // oldest first
		next := s.next
		if !b.ask(b.policies.aged, s, clock) && clock.Wall-s.since < b.cfg.Limits.FlushAge.Milliseconds() {
			break
		}
		s = next
	}
	if d := clock.Log - b.checked; d >= 1000 || d < 0 { // once in a second of the log
		b.checked = clock.Log
		for _, s := range b.inOrder() {
			b.ask(b.policies.logged, s, clock)
		}
	}
	b.relieve(b.pack.Free)
}

// ask cuts a segment if a policy of the group wants it.
func (b *Buffer) ask(group []Policy, s *segment, clock Clock) bool {
	if b.open[s.meta.ID] != s {
		return false // sealed by a policy before
	}
	p, ok := first(group, b.stats(s), clock)
	if !ok || p.Seal && !b.mayBeSealed(s) {
		return false
	}
	b.cut(s, p.Reason, p.Seal)
	return true
}

// relieve flushes the largest segments until so many bytes are on their way.
func (b *Buffer) relieve(bytes int64) {
	for bytes > 0 {
		var largest *segment
		for s := b.buffered.head; s != nil; s = s.next {
			if largest == nil || s.held > largest.held {
				largest = s
			}
		}
		if largest == nil {
			return
		}
		bytes -= largest.held
		b.cut(largest, Memory, false)
	}
}

func (b *Buffer) stats(s *segment) Stats {
	st := Stats{
		Level: s.meta.Level, Auto: s.meta.Auto,
		Buffered: s.bytes, Total: s.flushed + s.bytes, Rows: s.meta.Rows + s.rows(),
		Jitter: jitter(s), FirstTime: s.meta.FirstTime, LastTime: s.meta.LastTime,
		Succeeded: !s.meta.Auto && b.succeeded(s),
	}
	if s.columns != nil {
		st.Since = s.since
	}
	return st
}

// jitter spreads segments over an interval without chance, so that the
// buffer stays a function of its input.
func jitter(s *segment) float64 {
	h := fnv.New32a()
	h.Write(strconv.AppendInt(strconv.AppendInt(nil, s.meta.ID, 36), s.first.Offset, 36))
	return float64(h.Sum32()%1024) / 1024
}
