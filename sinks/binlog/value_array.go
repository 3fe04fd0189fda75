package binlog

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/proto"
)

// appendArray renders a serialized schemapb.ScalarField.
func appendArray(dst, v []byte) ([]byte, error) {
	var pb schemapb.ScalarField
	if err := proto.Unmarshal(v, &pb); err != nil {
		return dst, fmt.Errorf("%w: array: %w", ErrCorrupt, err)
	}
	return appendScalars(dst, &pb)
}

func appendScalars(dst []byte, pb *schemapb.ScalarField) ([]byte, error) {
	integer := func(dst []byte, v int64) []byte { return strconv.AppendInt(dst, v, 10) }
	switch d := pb.GetData().(type) {
	case nil:
		return append(dst, '[', ']'), nil
	case *schemapb.ScalarField_BoolData:
		return appendList(dst, d.BoolData.GetData(), strconv.AppendBool), nil
	case *schemapb.ScalarField_IntData:
		return appendList(dst, d.IntData.GetData(), func(dst []byte, v int32) []byte { return integer(dst, int64(v)) }), nil
	case *schemapb.ScalarField_LongData:
		return appendList(dst, d.LongData.GetData(), integer), nil
	case *schemapb.ScalarField_TimestamptzData:
		return appendList(dst, d.TimestamptzData.GetData(), integer), nil
	case *schemapb.ScalarField_FloatData:
		return appendList(dst, d.FloatData.GetData(), func(dst []byte, v float32) []byte { return appendFloat(dst, float64(v), 32) }), nil
	case *schemapb.ScalarField_DoubleData:
		return appendList(dst, d.DoubleData.GetData(), func(dst []byte, v float64) []byte { return appendFloat(dst, v, 64) }), nil
	case *schemapb.ScalarField_StringData:
		return appendList(dst, d.StringData.GetData(), func(dst []byte, v string) []byte { return appendString(dst, []byte(v)) }), nil
	case *schemapb.ScalarField_BytesData:
		return appendList(dst, d.BytesData.GetData(), appendHex), nil
	case *schemapb.ScalarField_JsonData:
		return appendList(dst, d.JsonData.GetData(), appendJSONText), nil
	}
	return dst, fmt.Errorf("%w: array of %T", ErrUnsupported, pb.GetData())
}

func appendList[T any](dst []byte, values []T, one func([]byte, T) []byte) []byte {
	dst = append(dst, '[')
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = one(dst, v)
	}
	return append(dst, ']')
}

// appendString appends v as a JSON string. What is not UTF-8 becomes the
// replacement character.
func appendString(dst, v []byte) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for len(v) > 0 {
		c := v[0]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		default:
			r, n := utf8.DecodeRune(v)
			dst = utf8.AppendRune(dst, r)
			v = v[n:]
			continue
		}
		v = v[1:]
	}
	return append(dst, '"')
}
