package archive

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"flowgraph/checkpoints"
	"flowgraph/stages/column"
)

// readAhead is how many flushes of rows are in memory at a time: the one in
// hand and the one that is being read.
const readAhead = 2

// Rows yields the live rows of a partition, segment after segment by vchannel
// and beginning, in log order: the same archive gives the same order. A row's
// values are those of Fields. read, which may be nil, is told how many stored
// rows were looked at. It ends with the first error.
func (l *Live) Rows(ctx context.Context, p *LivePartition, read func(rows int64)) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		var chosen choice
		if l.unique {
			var err error
			if chosen, err = l.chooseRows(ctx, p); err != nil {
				yield(Row{}, err)
				return
			}
		}
		for r, err := range l.scan(ctx, p, l.Fields, read) {
			if err != nil {
				yield(Row{}, err)
				return
			}
			if l.unique && !chosen.is(r.vchannel, r.Values[l.key], r.Row) {
				continue
			}
			if !yield(r.Row, nil) {
				return
			}
		}
	}
}

// scanned is a live row with the vchannel that it came from.
type scanned struct {
	Row
	vchannel string
}

// scan yields the live rows with these fields, which must begin with RowID
// and Timestamp and hold the key at its place, if they hold it.
func (l *Live) scan(ctx context.Context, p *LivePartition, fields []LiveField, read func(int64)) iter.Seq2[scanned, error] {
	key := slices.IndexFunc(fields, func(f LiveField) bool { return f.ID == l.Fields[l.key].ID })
	load := func(ctx context.Context, f flushOf) (*liveFlush, error) { return l.load(ctx, f, fields) }
	return func(yield func(scanned, error) bool) {
		for f, err := range ordered(ctx, readAhead, flushesOf(p.Segments), load) {
			if err != nil {
				yield(scanned{}, err)
				return
			}
			for r := range f.rows() {
				if f.segment.Again(r.ID, r.Timestamp) || r.Timestamp > l.Until || r.Timestamp < l.Deleted(f.vchannel, p.ID, r.Values[key]) {
					continue
				}
				if !yield(scanned{r, f.vchannel}, nil) {
					return
				}
			}
			if read != nil {
				read(f.count)
			}
		}
		if err := ctx.Err(); err != nil {
			yield(scanned{}, err)
		}
	}
}

// liveFlush is one flush with the fields asked for.
type liveFlush struct {
	segment  *LiveSegment
	vchannel string
	count    int64
	fields   []LiveField
	columns  []*column.Column // nil where the segment is older than the field
}

func (l *Live) load(ctx context.Context, f flushOf, fields []LiveField) (*liveFlush, error) {
	ids := make([]int64, len(fields))
	for i, field := range fields {
		ids[i] = field.ID
	}
	columns, err := l.archive.columns(ctx, f.segment.Segment, f.log, ids)
	if err != nil {
		return nil, err
	}
	for i, c := range columns {
		if required := i < 2 || fields[i].PrimaryKey; required && c == nil {
			return nil, fmt.Errorf("segment %d has no field %d: %w", f.segment.ID, ids[i], ErrDamaged)
		}
		if want := fields[i]; c != nil && (c.Field.Type != want.Type || c.Field.Width() != want.Width()) {
			return nil, fmt.Errorf("segment %d, field %d: %s of %d bytes, the schema says %s of %d: %w",
				f.segment.ID, ids[i], c.Field.Type, c.Field.Width(), want.Type, want.Width(), ErrDamaged)
		}
	}
	return &liveFlush{f.segment, f.segment.VChannel, f.log.Rows, fields, columns}, nil
}

// rows yields all rows of the flush; the values' slice is used again.
func (f *liveFlush) rows() iter.Seq[Row] {
	return func(yield func(Row) bool) {
		row := Row{Values: make([][]byte, len(f.fields))}
		cursors := make([]cursor, len(f.fields))
		for i, c := range f.columns {
			if c == nil {
				row.Values[i] = f.fields[i].Default
				continue
			}
			cursors[i] = newCursors([]*column.Column{c})[0]
		}
		for range f.count {
			for i, c := range f.columns {
				if c != nil {
					row.Values[i] = cursors[i].next()
				}
			}
			row.ID, row.Timestamp = column.Int64(row.Values[0]), uint64(column.Int64(row.Values[1]))
			if !yield(row) {
				return
			}
		}
	}
}

// columns reads some fields of one flush of rows, in the order of the IDs; nil
// for one that the segment does not have.
func (a *Archive) columns(ctx context.Context, s *Segment, l checkpoints.Log, ids []int64) ([]*column.Column, error) {
	out := make([]*column.Column, len(ids))
	var keys []string
	var places []int // of keys, in out
	for i, id := range ids {
		if slices.Contains(s.Fields, id) {
			keys = append(keys, checkpoints.InsertLogKey(s.Collection, s.Partition, s.ID, id, l.ID))
			places = append(places, i)
		}
	}
	for file, err := range ordered(ctx, files, each(keys), a.file) {
		if err != nil {
			return nil, err
		}
		columns, err := s.columnsOf(file, l, ids[places[0]])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.Key, err)
		}
		out[places[0]], places = columns[0], places[1:]
	}
	return out, nil
}
