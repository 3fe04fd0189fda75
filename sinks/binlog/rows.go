package binlog

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"flowgraph/stages/column"
)

// batch is how many values are read at a time.
const batch = 4096

// column reads column i of all row groups.
func (p *payload) column(i int, f column.Field) (*column.Column, error) {
	in := &intake{col: column.New(f), limit: p.limit}
	if p.r.MetaData().Schema.Column(i).MaxRepetitionLevel() > 0 {
		return nil, fmt.Errorf("%w: repeated values", ErrUnsupported)
	}
	in.optional = p.r.MetaData().Schema.Column(i).MaxDefinitionLevel() > 0
	for g := range p.r.NumRowGroups() {
		r, err := p.r.RowGroup(g).Column(i)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		if err := in.chunk(r); err != nil {
			return nil, err
		}
		if err := r.Close(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
	}
	if int64(in.col.Rows) != p.r.NumRows() {
		return nil, fmt.Errorf("%w: %d rows where the footer says %d", ErrCorrupt, in.col.Rows, p.r.NumRows())
	}
	return in.col, nil
}

// intake copies values out of the Parquet library into a column.
type intake struct {
	pool     column.Pool
	col      *column.Column
	optional bool
	limit    int64
	bytes    []byte // a batch in PLAIN layout
}

func (in *intake) chunk(r file.ColumnChunkReader) error {
	switch r := r.(type) {
	case *file.BooleanColumnChunkReader:
		return take(in, r, func(b []byte, v bool) []byte {
			if v {
				return append(b, 1)
			}
			return append(b, 0)
		})
	case *file.Int32ColumnChunkReader:
		return take(in, r, func(b []byte, v int32) []byte { return binary.LittleEndian.AppendUint32(b, uint32(v)) })
	case *file.Int64ColumnChunkReader:
		return take(in, r, func(b []byte, v int64) []byte { return binary.LittleEndian.AppendUint64(b, uint64(v)) })
	case *file.Float32ColumnChunkReader:
		return take(in, r, func(b []byte, v float32) []byte { return binary.LittleEndian.AppendUint32(b, math.Float32bits(v)) })
	case *file.Float64ColumnChunkReader:
		return take(in, r, func(b []byte, v float64) []byte { return binary.LittleEndian.AppendUint64(b, math.Float64bits(v)) })
	case *file.FixedLenByteArrayColumnChunkReader:
		return take(in, r, func(b []byte, v parquet.FixedLenByteArray) []byte { return append(b, v...) })
	case *file.ByteArrayColumnChunkReader:
		return take(in, r, func(b []byte, v parquet.ByteArray) []byte {
			in.col.AppendBytes(&in.pool, v)
			return b
		})
	}
	return fmt.Errorf("%w: values of %v", ErrUnsupported, r.Type())
}

// reader is what all typed chunk readers of the library have.
type reader[T any] interface {
	HasNext() bool
	Err() error
	ReadBatchInPage(n int64, values []T, defs, reps []int16) (int64, int, error)
}

// take reads a chunk to its end. The values may be views of the library's
// page, so each batch is copied before the next page is read.
func take[T any](in *intake, r reader[T], encode func([]byte, T) []byte) error {
	values := make([]T, batch)
	var defs []int16
	if in.optional {
		defs = make([]int16, batch)
	}
	for r.HasNext() {
		rows, n, err := r.ReadBatchInPage(batch, values, defs, nil)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		if rows <= 0 || n < 0 || int64(n) > rows {
			return fmt.Errorf("%w: a page ends before its last value", ErrCorrupt)
		}
		if !in.optional {
			place(in, values[:n], encode)
		} else if err := placeOptional(in, values[:n], defs[:rows], encode); err != nil {
			return err
		}
		if in.col.Bytes()+int64(in.col.Rows) > in.limit {
			return fmt.Errorf("%w: expands to more than %d bytes", ErrCorrupt, in.limit)
		}
	}
	if err := r.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return nil
}

func place[T any](in *intake, values []T, encode func([]byte, T) []byte) {
	in.bytes = in.bytes[:0]
	for _, v := range values {
		in.bytes = encode(in.bytes, v)
	}
	if len(in.bytes) > 0 { // else encode has put the values itself
		in.col.AppendFixed(&in.pool, in.bytes)
	}
}

// placeOptional sets nulls between runs of values.
func placeOptional[T any](in *intake, values []T, defs []int16, encode func([]byte, T) []byte) error {
	for len(defs) > 0 {
		run := 0
		for run < len(defs) && defs[run] > 0 {
			run++
		}
		if run > len(values) {
			return fmt.Errorf("%w: fewer values than levels say", ErrCorrupt)
		}
		place(in, values[:run], encode)
		values, defs = values[run:], defs[run:]
		for len(defs) > 0 && defs[0] == 0 {
			in.col.AppendNull(&in.pool)
			defs = defs[1:]
		}
	}
	return nil
}
