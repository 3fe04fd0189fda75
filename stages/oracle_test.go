package stages_test

import (
	"maps"
	"math"
	"slices"

	"flowgraph/checkpoints"
	"flowgraph/stages"
	"flowgraph/stages/column"
)

// read returns the rows of a cut and checks every column of them.
func (l *life) read(c *stages.Cut) []int64 {
	l.t.Helper()
	flush := c.Change.Flush
	key := int64(100)
	columns := map[int64][][]byte{}
	for _, col := range c.Columns {
		if int64(col.Rows) != flush.Log.Rows {
			l.fatalf("cut %d: %d rows in field %d, %d in the log entry", c.Seq, col.Rows, col.Field.ID, flush.Log.Rows)
		}
		for v := range col.Values() {
			columns[col.Field.ID] = append(columns[col.Field.ID], v)
		}
	}
	var rows []int64
	lo, hi := uint64(math.MaxUint64), uint64(0)
	for i, k := range columns[key] {
		n := column.Int64(k)
		w, ok := l.truth.rows[n]
		if !ok {
			l.fatalf("cut %d: row %d counts for nothing in the log", c.Seq, n)
		}
		ts := uint64(column.Int64(columns[column.Timestamp][i]))
		lo, hi = min(lo, ts), max(hi, ts)
		if ts != w.ts {
			l.fatalf("row %d: timestamp %d", n, ts)
		}
		if flush.Segment.Level == checkpoints.L1 {
			l.readRow(n, i, columns, w)
		}
		rows = append(rows, n)
	}
	if lo != flush.Log.MinTS || hi != flush.Log.MaxTS {
		l.fatalf("cut %d: timestamps %d to %d, the log entry says %d to %d", c.Seq, lo, hi, flush.Log.MinTS, flush.Log.MaxTS)
	}
	return rows
}

func (l *life) readRow(n int64, i int, columns map[int64][][]byte, w want) {
	l.t.Helper()
	if column.Int64(columns[column.RowID][i]) != n+1000 || string(columns[101][i]) != text(n) || len(columns) != 4+w.rec.version {
		l.fatalf("row %d: row ID %d, text %q, %d columns", n, column.Int64(columns[column.RowID][i]), columns[101][i], len(columns))
	}
	for f := range w.rec.version {
		if column.Int64(columns[int64(102+f)][i]) != -n {
			l.fatalf("row %d: field %d", n, 102+f)
		}
	}
}

// check holds a committed document and the manifests against the log: every
// row of the log once, inside its segment's range, none lost.
func (l *life) check(d *checkpoints.Document) {
	l.t.Helper()
	segments := map[int64]checkpoints.Segment{}
	for id, s := range l.manifests {
		segments[id] = s
	}
	for id, s := range d.Segments {
		segments[id] = *s
	}
	in := map[int64]int64{}
	for _, id := range slices.Sorted(maps.Keys(segments)) {
		s := segments[id]
		l.checkState(s)
		first := int64(math.MaxInt64)
		for _, log := range s.Logs {
			for _, n := range l.objects[log.ID] {
				if other, twice := in[n]; twice {
					l.fatalf("row %d doubled: in segments %d and %d", n, other, id)
				}
				in[n] = id
				l.checkRow(n, s)
				first = min(first, l.truth.rows[n].identity)
			}
		}
		if len(s.Logs) > 0 && first != s.Start.Offset {
			l.fatalf("segment %d starts at %d, its first row is at %d", id, s.Start.Offset, first)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(l.truth.rows)) {
		w := l.truth.rows[n]
		if _, ok := in[n]; !ok && w.identity < d.Seek.Offset {
			l.fatalf("row %d (%v) lost: not persisted, the seek position is %d", n, w.rec, d.Seek.Offset)
		}
	}
	l.checkEvents(d)
}

func (l *life) checkState(s checkpoints.Segment) {
	l.t.Helper()
	if s.State < l.states[s.ID] && !(l.states[s.ID] == checkpoints.Dropped && l.manifests[s.ID].ID == s.ID) {
		l.fatalf("segment %d went back from state %d to %d", s.ID, l.states[s.ID], s.State)
	}
	l.states[s.ID] = max(l.states[s.ID], s.State)
	if s.State < checkpoints.Flushed {
		return
	}
	if logs, ok := l.frozen[s.ID]; ok && logs != len(s.Logs) {
		l.fatalf("segment %d changed after its last flush: %d logs, %d before", s.ID, len(s.Logs), logs)
	}
	l.frozen[s.ID] = len(s.Logs)
}

// checkRow asks whether a row may be in this segment.
func (l *life) checkRow(n int64, s checkpoints.Segment) {
	l.t.Helper()
	w := l.truth.rows[n]
	if w.identity < s.Start.Offset || w.identity >= s.End.Offset {
		l.fatalf("row %d (identity %d) outside [%d, %d) of segment %d", n, w.identity, s.Start.Offset, s.End.Offset, s.ID)
	}
	level, fields := checkpoints.L1, []int64{0, 1, 100, 101}
	for f := range w.rec.version {
		fields = append(fields, int64(102+f))
	}
	if w.rec.op == deleteOp {
		level, fields = checkpoints.L0, nil
	}
	if s.Collection != w.rec.coll || s.Partition != w.rec.part || s.Level != level || !s.Auto && s.ID != w.rec.seg {
		l.fatalf("row %d (%v) is in segment %d of %d/%d, level %d", n, w.rec, s.ID, s.Collection, s.Partition, s.Level)
	}
	if !slices.Equal(s.Fields, fields) {
		l.fatalf("row %d has fields %v, its segment %d has %v", n, fields, s.ID, s.Fields)
	}
}

// checkEvents asks for the bad records and drops that the position has passed.
func (l *life) checkEvents(d *checkpoints.Document) {
	l.t.Helper()
	for _, off := range l.truth.bad {
		if off < d.Seek.Offset && !l.quarantine[off] {
			l.fatalf("bad record @%d not in quarantine, the seek position is %d", off, d.Seek.Offset)
		}
	}
	for at, off := range l.truth.dropped {
		if off >= d.Seek.Offset {
			continue
		}
		c := d.Collections[at[0]]
		if c == nil || at[1] == 0 && c.Dropped == nil || at[1] != 0 && c.Dropped == nil && (c.Partitions[at[1]] == nil || c.Partitions[at[1]].Dropped == nil) {
			l.fatalf("drop @%d forgotten, the seek position is %d", off, d.Seek.Offset)
		}
	}
}

// finish drains, and starts once more to see that nothing is left and that
// nothing is read as new.
func (l *life) finish() {
	l.t.Helper()
	end := int64(0)
	if len(l.log) > 0 {
		end = checkpoints.After(l.log[len(l.log)-1].off)
	}
	l.drain()
	if l.stored.Seek.Offset != end {
		l.fatalf("drained at %d, the log ends at %d", l.stored.Seek.Offset, end)
	}
	l = l.settle().crash(quiet()).drain()
	if l.placed.Rows != 0 {
		l.fatalf("after a drain a restart still placed %d rows", l.placed.Rows)
	}
}
