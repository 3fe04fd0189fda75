package export

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/stages/column"
)

// appender adds one value, as column.Values yields it, to a column.
type appender func(v []byte) error

// appenderOf returns what adds values of the field to its builder, which is
// of the type that typeOf says.
func appenderOf(f column.Field, to array.Builder) appender {
	add := valuesOf(f, to)
	width := f.Width()
	return func(v []byte) error {
		if width > 0 && len(v) != width {
			return fmt.Errorf("%d bytes as %s: %w", len(v), f.Type, ErrValue)
		}
		return add(v)
	}
}

func valuesOf(f column.Field, to array.Builder) appender {
	le := binary.LittleEndian
	switch b := to.(type) {
	case *array.BooleanBuilder:
		return func(v []byte) error { b.Append(v[0] != 0); return nil }
	case *array.Int8Builder:
		return func(v []byte) error { b.Append(int8(le.Uint32(v))); return nil }
	case *array.Int16Builder:
		return func(v []byte) error { b.Append(int16(le.Uint32(v))); return nil }
	case *array.Int32Builder:
		return func(v []byte) error { b.Append(int32(le.Uint32(v))); return nil }
	case *array.Int64Builder:
		return func(v []byte) error { b.Append(column.Int64(v)); return nil }
	case *array.Uint64Builder:
		return func(v []byte) error { b.Append(le.Uint64(v)); return nil }
	case *array.TimestampBuilder:
		return func(v []byte) error { b.Append(arrow.Timestamp(column.Int64(v))); return nil }
	case *array.Float32Builder:
		return func(v []byte) error { b.Append(math.Float32frombits(le.Uint32(v))); return nil }
	case *array.Float64Builder:
		return func(v []byte) error { b.Append(math.Float64frombits(le.Uint64(v))); return nil }
	case *array.StringBuilder:
		return func(v []byte) error { b.Append(text(v)); return nil }
	case *array.BinaryBuilder:
		return func(v []byte) error { b.Append(v); return nil }
	case *array.FixedSizeListBuilder:
		return vectorValues(f, b)
	case *array.ListBuilder:
		switch f.Type {
		case schemapb.DataType_SparseFloatVector:
			return sparseValues(b)
		case schemapb.DataType_Array:
			return arrayValues(b)
		}
		return vectorValues(f, b)
	}
	return func([]byte) error { return fmt.Errorf("type %s: %w", f.Type, ErrUnsupported) }
}

// text is a string that every reader takes: bytes that are no UTF-8, which
// Milvus does not store, would make them refuse the whole file.
func text(v []byte) string {
	if utf8.Valid(v) {
		return string(v)
	}
	return strings.ToValidUTF8(string(v), "\uFFFD")
}

// vectorValues adds dense vectors.
func vectorValues(f column.Field, b array.ListLikeBuilder) appender {
	switch values := b.ValueBuilder().(type) {
	case *array.Uint8Builder:
		return func(v []byte) error { b.Append(true); values.AppendValues(v, nil); return nil }
	case *array.Int8Builder:
		return func(v []byte) error {
			b.Append(true)
			values.Reserve(len(v))
			for _, x := range v {
				values.UnsafeAppend(int8(x))
			}
			return nil
		}
	case *array.Float32Builder:
		return floatValues(f, b, values)
	}
	return func([]byte) error { return fmt.Errorf("type %s: %w", f.Type, ErrUnsupported) }
}

// floatValues adds vectors of floats, a whole one at a time: nearly all bytes
// of an export come through here.
func floatValues(f column.Field, b array.ListLikeBuilder, values *array.Float32Builder) appender {
	le := binary.LittleEndian
	var row []float32
	size, decode := 4, func(v []byte) float32 { return math.Float32frombits(le.Uint32(v)) }
	switch f.Type {
	case schemapb.DataType_Float16Vector:
		size, decode = 2, func(v []byte) float32 { return math.Float32frombits(widen(le.Uint16(v))) }
	case schemapb.DataType_BFloat16Vector:
		size, decode = 2, func(v []byte) float32 { return math.Float32frombits(uint32(le.Uint16(v)) << 16) }
	}
	held := 0 // by the builder, before a row group took it away
	return func(v []byte) error {
		if values.Len() == 0 && held > 0 {
			values.Reserve(held) // growing to it step by step takes as much again
		}
		row = row[:0]
		if size == 4 { // without a call for each number
			for ; len(v) >= 4; v = v[4:] {
				row = append(row, math.Float32frombits(le.Uint32(v)))
			}
		}
		for ; len(v) > 0; v = v[size:] {
			row = append(row, decode(v))
		}
		b.Append(true)
		values.AppendValues(row, nil)
		held = values.Len()
		return nil
	}
}

// widen turns the bits of an IEEE 754 binary16 into those of the binary32 of
// the same value; payloads of not-a-number stay.
func widen(h uint16) uint32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&1023)
	switch {
	case exponent == 31:
		return sign | 0xff<<23 | fraction<<13
	case exponent > 0:
		return sign | (exponent+112)<<23 | fraction<<13
	case fraction == 0:
		return sign
	}
	exponent = 113
	for fraction&1024 == 0 { // below the smallest normal number
		fraction, exponent = fraction<<1, exponent-1
	}
	return sign | exponent<<23 | (fraction&1023)<<13
}

// sparseValues adds (uint32 index, float32 value) pairs.
func sparseValues(b *array.ListBuilder) appender {
	entries := b.ValueBuilder().(*array.StructBuilder)
	index, value := entries.FieldBuilder(0).(*array.Uint32Builder), entries.FieldBuilder(1).(*array.Float32Builder)
	le := binary.LittleEndian
	return func(v []byte) error {
		if len(v)%8 != 0 {
			return fmt.Errorf("a sparse vector of %d bytes: %w", len(v), ErrValue)
		}
		b.Append(true)
		for ; len(v) > 0; v = v[8:] {
			entries.Append(true)
			index.Append(le.Uint32(v))
			value.Append(math.Float32frombits(le.Uint32(v[4:])))
		}
		return nil
	}
}
