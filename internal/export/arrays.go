package export

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/proto"
)

// arrayValues adds arrays: a value is a serialized schemapb.ScalarField.
func arrayValues(b *array.ListBuilder) appender {
	return func(v []byte) error {
		pb := new(schemapb.ScalarField)
		if err := proto.Unmarshal(v, pb); err != nil {
			return fmt.Errorf("array: %w: %w", ErrValue, err)
		}
		b.Append(true)
		if pb.GetData() == nil { // an empty array
			return nil
		}
		if !elements(b.ValueBuilder(), pb) {
			return fmt.Errorf("%T in an array of %s: %w", pb.GetData(), b.ValueBuilder().Type(), ErrValue)
		}
		return nil
	}
}

// elements adds a value's elements; it is false if they are of another type.
func elements(to array.Builder, pb *schemapb.ScalarField) bool {
	switch b := to.(type) {
	case *array.BooleanBuilder:
		b.AppendValues(pb.GetBoolData().GetData(), nil)
		return pb.GetBoolData() != nil
	case *array.Int8Builder:
		each(pb.GetIntData().GetData(), func(v int32) { b.Append(int8(v)) })
		return pb.GetIntData() != nil
	case *array.Int16Builder:
		each(pb.GetIntData().GetData(), func(v int32) { b.Append(int16(v)) })
		return pb.GetIntData() != nil
	case *array.Int32Builder:
		b.AppendValues(pb.GetIntData().GetData(), nil)
		return pb.GetIntData() != nil
	case *array.Int64Builder:
		b.AppendValues(pb.GetLongData().GetData(), nil)
		return pb.GetLongData() != nil
	case *array.TimestampBuilder:
		each(pb.GetTimestamptzData().GetData(), func(v int64) { b.Append(arrow.Timestamp(v)) })
		return pb.GetTimestamptzData() != nil
	case *array.Float32Builder:
		b.AppendValues(pb.GetFloatData().GetData(), nil)
		return pb.GetFloatData() != nil
	case *array.Float64Builder:
		b.AppendValues(pb.GetDoubleData().GetData(), nil)
		return pb.GetDoubleData() != nil
	case *array.StringBuilder:
		each(pb.GetStringData().GetData(), b.Append)
		each(pb.GetJsonData().GetData(), func(v []byte) { b.Append(text(v)) })
		return pb.GetStringData() != nil || pb.GetJsonData() != nil
	case *array.BinaryBuilder:
		each(pb.GetGeometryData().GetData(), b.Append)
		return pb.GetGeometryData() != nil
	}
	return false
}

func each[T any](list []T, do func(T)) {
	for _, v := range list {
		do(v)
	}
}
