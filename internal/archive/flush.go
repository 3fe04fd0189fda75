package archive

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"flowgraph/checkpoints"
	"flowgraph/sinks/binlog"
	"flowgraph/stages/column"
)

// files is how many files of one flush are read at a time.
const files = 8

// Flush is one flush of a segment, read whole.
type Flush struct {
	Log checkpoints.Log
	// Columns have equal length. Of rows: RowID, Timestamp, then the user
	// fields, as Segment.Fields. Of deletes: key and timestamp.
	Columns []*column.Column
	Files   []File
}

// File is one object of a flush.
type File struct {
	checkpoints.Info
	Binlog *binlog.Log       // nil for key statistics
	Keys   []binlog.KeyStats // of one flush, or of all flushes of a segment
}

// Row is one row of a segment.
type Row struct {
	ID        int64
	Timestamp uint64 // hybrid
	// Values of the fields, as column.Values yields them, in the order of
	// Segment.Fields: RowID and Timestamp first. nil is a null. The slice is
	// used again for the next row, what it points to is not.
	Values [][]byte
}

// Delete is one delete.
type Delete struct {
	Key       []byte // eight bytes little-endian, or text
	Timestamp uint64 // hybrid
}

// Logs returns all log entries of a segment, oldest first, and the keys of
// the chunks that hold some of them.
func (a *Archive) Logs(ctx context.Context, s *Segment) (logs []checkpoints.Log, chunks []string, err error) {
	return checkpoints.LoadLogs(ctx, a.bucket, &s.Segment)
}

// Flushes yields the flushes of a segment in log order, one in memory at a
// time. It ends with the first error.
func (a *Archive) Flushes(ctx context.Context, s *Segment) iter.Seq2[*Flush, error] {
	return func(yield func(*Flush, error) bool) {
		logs, _, err := a.Logs(ctx, s)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, l := range logs {
			f, err := a.Flush(ctx, s, l)
			if !yield(f, err) || err != nil {
				return
			}
		}
	}
}

// Rows yields the rows of a flush of level L1.
func (f *Flush) Rows() iter.Seq[Row] {
	return func(yield func(Row) bool) {
		cursors := newCursors(f.Columns)
		row := Row{Values: make([][]byte, len(cursors))}
		for range f.Log.Rows {
			for i := range cursors {
				row.Values[i] = cursors[i].next()
			}
			row.ID, row.Timestamp = column.Int64(row.Values[0]), uint64(column.Int64(row.Values[1]))
			if !yield(row) {
				return
			}
		}
	}
}

// Deletes yields the deletes of a flush of level L0.
func (f *Flush) Deletes() iter.Seq[Delete] {
	return func(yield func(Delete) bool) {
		cursors := newCursors(f.Columns)
		for range f.Log.Rows {
			d := Delete{Key: cursors[0].next(), Timestamp: uint64(column.Int64(cursors[1].next()))}
			if !yield(d) {
				return
			}
		}
	}
}

// Flush reads one flush of a segment: every object that its log entry refers
// to. ErrDamaged if one does not decode, is of another segment, or if they
// hold another number of rows than the entry says.
func (a *Archive) Flush(ctx context.Context, s *Segment, l checkpoints.Log) (*Flush, error) {
	f := &Flush{Log: l}
	for file, err := range ordered(ctx, files, each(s.DataKeys(l.ID)), a.file) {
		if err != nil {
			return nil, err
		}
		f.Files = append(f.Files, file)
		if file.Binlog == nil {
			continue
		}
		if err := f.take(s, file); err != nil {
			return nil, fmt.Errorf("%s: %w", file.Key, err)
		}
	}
	if s.Level == checkpoints.L1 && !(len(s.Fields) > 1 && s.Fields[0] == column.RowID && s.Fields[1] == column.Timestamp) {
		return nil, fmt.Errorf("segment %d has no row IDs or timestamps: %w", s.ID, ErrDamaged)
	}
	return f, nil
}

func (a *Archive) file(ctx context.Context, key string) (File, error) {
	data, info, err := a.bucket.Get(ctx, key)
	if err != nil {
		return File{}, err
	}
	info.Key = key
	if strings.HasPrefix(key, "stats_log/") {
		stats, err := binlog.ReadKeyStats(data)
		if err != nil {
			return File{}, fmt.Errorf("%s: %w: %w", key, ErrDamaged, err)
		}
		return File{Info: info, Keys: stats}, nil
	}
	log, err := binlog.Read(data)
	if err != nil {
		return File{}, fmt.Errorf("%s: %w: %w", key, ErrDamaged, err)
	}
	return File{Info: info, Binlog: log}, nil
}

// take adds a file's columns after it was held against the entry.
func (f *Flush) take(s *Segment, file File) error {
	var want int64
	if s.Level == checkpoints.L1 {
		want = s.Fields[len(f.Columns)]
	}
	columns, err := s.columnsOf(file, f.Log, want)
	f.Columns = append(f.Columns, columns...)
	return err
}

// columnsOf are a file's columns: the field's wanted, or the two of deletes.
// ErrDamaged if the file is not what the log entry says.
func (s *Segment) columnsOf(file File, l checkpoints.Log, want int64) ([]*column.Column, error) {
	d := &file.Binlog.Descriptor
	if d.Collection != s.Collection || d.Partition != s.Partition || d.Segment != s.ID {
		return nil, fmt.Errorf("its header says segment %d of %d/%d: %w", d.Segment, d.Collection, d.Partition, ErrDamaged)
	}
	columns := []*column.Column{file.Binlog.Rows}
	if s.Level == checkpoints.L0 {
		if file.Binlog.Deltas == nil {
			return nil, fmt.Errorf("not a delta log: %w", ErrDamaged)
		}
		columns = []*column.Column{file.Binlog.Deltas.Keys, file.Binlog.Deltas.Timestamps}
	} else if file.Binlog.Rows == nil || d.Field != want {
		return nil, fmt.Errorf("its header says field %d, not %d: %w", d.Field, want, ErrDamaged)
	} else if want < column.FirstUser && columns[0].Field.Width() != 8 {
		return nil, fmt.Errorf("system field %d of type %s: %w", want, d.Type, ErrDamaged)
	}
	for _, c := range columns {
		if int64(c.Rows) != l.Rows {
			return nil, fmt.Errorf("%d rows, the log entry says %d: %w", c.Rows, l.Rows, ErrDamaged)
		}
	}
	return columns, nil
}
