package binlog

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/stages/column"
)

// WriteJSON writes a column's values, one a line, as AppendJSON renders them.
func WriteJSON(w io.Writer, c *column.Column) error {
	out := bufio.NewWriterSize(w, 64<<10)
	var line []byte
	for v, valid := range c.Values() {
		var err error
		if line, err = AppendJSON(line[:0], c.Field, v, valid); err != nil {
			return err
		}
		if _, err = out.Write(append(line, '\n')); err != nil {
			return fmt.Errorf("write values: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write values: %w", err)
	}
	return nil
}

// AppendJSON appends one value, as column.Values yields it, for people and as
// valid JSON: numbers as numbers, JSON text as it is, vectors and arrays as
// arrays, sparse vectors as objects, binary vectors and geometry as hex
// strings, not-a-number and infinities as strings, null for a null.
func AppendJSON(dst []byte, f column.Field, v []byte, valid bool) ([]byte, error) {
	if !valid {
		return append(dst, "null"...), nil
	}
	if width := f.Width(); len(v) != width && width > 0 || !f.Supported() {
		return dst, fmt.Errorf("%w: %d bytes as %v", ErrCorrupt, len(v), f.Type)
	}
	le := binary.LittleEndian
	switch f.Type {
	case schemapb.DataType_Bool:
		return strconv.AppendBool(dst, v[0] != 0), nil
	case schemapb.DataType_Int8, schemapb.DataType_Int16, schemapb.DataType_Int32:
		return strconv.AppendInt(dst, int64(int32(le.Uint32(v))), 10), nil
	case schemapb.DataType_Int64, schemapb.DataType_Timestamptz:
		return strconv.AppendInt(dst, column.Int64(v), 10), nil
	case schemapb.DataType_Float:
		return appendFloat(dst, float64(math.Float32frombits(le.Uint32(v))), 32), nil
	case schemapb.DataType_Double:
		return appendFloat(dst, math.Float64frombits(le.Uint64(v)), 64), nil
	case schemapb.DataType_JSON:
		return appendJSONText(dst, v), nil
	case schemapb.DataType_Array:
		return appendArray(dst, v)
	case schemapb.DataType_BinaryVector, schemapb.DataType_Geometry:
		return appendHex(dst, v), nil
	case schemapb.DataType_SparseFloatVector:
		return appendSparse(dst, v)
	case schemapb.DataType_VarChar, schemapb.DataType_String, schemapb.DataType_Text:
		return appendString(dst, v), nil
	}
	return appendVector(dst, f, v), nil
}

// appendVector renders the dense vectors.
func appendVector(dst []byte, f column.Field, v []byte) []byte {
	le := binary.LittleEndian
	size := f.Width() / f.Dim // of one element
	dst = append(dst, '[')
	for i := 0; i < len(v); i += size {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch f.Type {
		case schemapb.DataType_FloatVector:
			dst = appendFloat(dst, float64(math.Float32frombits(le.Uint32(v[i:]))), 32)
		case schemapb.DataType_Float16Vector:
			dst = appendFloat(dst, half(le.Uint16(v[i:])), 32)
		case schemapb.DataType_BFloat16Vector:
			dst = appendFloat(dst, float64(math.Float32frombits(uint32(le.Uint16(v[i:]))<<16)), 32)
		default:
			dst = strconv.AppendInt(dst, int64(int8(v[i])), 10)
		}
	}
	return append(dst, ']')
}

// half is the value of an IEEE 754 binary16.
func half(bits uint16) float64 {
	exponent, fraction := int(bits>>10&31), float64(bits&1023)
	v := math.Ldexp(1024+fraction, exponent-25)
	switch {
	case exponent == 0:
		v = math.Ldexp(fraction, -24)
	case exponent == 31 && fraction == 0:
		v = math.Inf(1)
	case exponent == 31:
		return math.NaN()
	}
	if bits>>15 == 1 {
		return -v
	}
	return v
}

// appendSparse renders (uint32 index, float32 value) pairs.
func appendSparse(dst, v []byte) ([]byte, error) {
	if len(v)%8 != 0 {
		return dst, fmt.Errorf("%w: sparse vector of %d bytes", ErrCorrupt, len(v))
	}
	dst = append(dst, '{')
	for i := 0; i < len(v); i += 8 {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		dst = strconv.AppendUint(dst, uint64(binary.LittleEndian.Uint32(v[i:])), 10)
		dst = append(dst, '"', ':')
		dst = appendFloat(dst, float64(math.Float32frombits(binary.LittleEndian.Uint32(v[i+4:]))), 32)
	}
	return append(dst, '}'), nil
}

// appendFloat uses the shortest digits that give the same bits back. Minus
// zero has a point, since many readers take -0 for an integer, which has no
// sign.
func appendFloat(dst []byte, v float64, bits int) []byte {
	if v == 0 && math.Signbit(v) {
		return append(dst, "-0.0"...)
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		dst = append(dst, '"')
		dst = strconv.AppendFloat(dst, v, 'g', -1, bits)
		return append(dst, '"')
	}
	return strconv.AppendFloat(dst, v, 'g', -1, bits)
}

func appendHex(dst, v []byte) []byte {
	dst = append(dst, '"')
	dst = hex.AppendEncode(dst, v)
	return append(dst, '"')
}

// appendJSONText leaves text that is JSON as it is; other text, which Milvus
// does not check either, becomes a string.
func appendJSONText(dst, v []byte) []byte {
	if json.Valid(v) {
		return append(dst, v...)
	}
	return appendString(dst, v)
}
