package wire_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/msgpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"flowgraph/stages/wire"
)

// differences collects what the walk and the generated code see differently.
type differences struct{ found []string }

func (d *differences) check(same bool, format string, args ...any) {
	if !same {
		d.found = append(d.found, fmt.Sprintf(format, args...))
	}
}

func (d *differences) number(what string, got, want int64) {
	d.check(got == want, "%s: %d, want %d", what, got, want)
}

func (d *differences) text(what string, got []byte, want string) {
	d.check(string(got) == want, "%s: %.60q, want %.60q", what, got, want)
}

func (d *differences) base(got wire.Base, want *commonpb.MsgBase) {
	d.number("type", int64(got.Type), int64(want.GetMsgType()))
	d.number("message ID", got.MsgID, want.GetMsgID())
	d.number("base timestamp", int64(got.Timestamp), int64(want.GetTimestamp()))
}

func (d *differences) times(packed []byte, lo, hi uint64, want []uint64) {
	d.check(slices.Equal(varints[uint64](packed), want), "timestamps")
	if len(want) == 0 {
		want = []uint64{0}
	}
	d.check(lo == slices.Min(want) && hi == slices.Max(want), "timestamps from %d to %d", lo, hi)
}

// varints reads packed varints; nil if they cannot be read.
func varints[T ~int32 | ~int64 | ~uint64](packed []byte) []T {
	var out []T
	for len(packed) > 0 {
		v, n := protowire.ConsumeVarint(packed)
		if n < 0 {
			return nil
		}
		out, packed = append(out, T(v)), packed[n:]
	}
	return out
}

func bools(packed []byte) []bool {
	var out []bool
	for _, v := range varints[uint64](packed) {
		out = append(out, v != 0)
	}
	return out
}

// fixed lays numbers out as they travel in packed form.
func fixed[T float32 | float64](values []T) []byte {
	var out []byte
	for _, v := range values {
		if x, ok := any(v).(float64); ok {
			out = binary.LittleEndian.AppendUint64(out, math.Float64bits(x))
		} else {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(v)))
		}
	}
	return out
}

func strs[T ~string | ~[]byte](values []T) [][]byte {
	var out [][]byte
	for _, v := range values {
		out = append(out, []byte(v))
	}
	return out
}

func (d *differences) strings(what string, got wire.Strings, want [][]byte) {
	d.check(slices.EqualFunc(slices.Collect(got.All), want, bytes.Equal) && got.Len() == len(want), "%s: the strings", what)
}

func (d *differences) insert(got *wire.Insert, want *msgpb.InsertRequest) {
	d.base(got.Base, want.GetBase())
	d.text("shard", got.Shard, want.GetShardName())
	d.text("collection name", got.CollectionName, want.GetCollectionName())
	d.text("partition name", got.PartitionName, want.GetPartitionName())
	d.number("collection", got.Collection, want.GetCollectionID())
	d.number("partition", got.Partition, want.GetPartitionID())
	d.number("segment", got.Segment, want.GetSegmentID())
	d.number("rows", int64(got.Rows), int64(want.GetNumRows()))
	d.check(got.RowBased == (len(want.GetRowData()) > 0), "row based: %t", got.RowBased)
	d.check(slices.Equal(varints[int64](got.RowIDs), want.GetRowIDs()), "row IDs")
	d.times(got.Timestamps, got.MinTS, got.MaxTS, want.GetTimestamps())
	columns, err := got.Columns(nil)
	d.check(err == nil, "columns: %v", err)
	d.number("columns", int64(len(columns)), int64(len(want.GetFieldsData())))
	for i, f := range want.GetFieldsData() {
		if i < len(columns) {
			d.field(&columns[i], f)
		}
	}
}

func (d *differences) field(got *wire.Field, want *schemapb.FieldData) {
	what := fmt.Sprintf("column %d", want.GetFieldId())
	d.number(what+": ID", got.ID, want.GetFieldId())
	d.number(what+": type", int64(got.Type), int64(want.GetType()))
	d.text(what+": name", got.Name, want.GetFieldName())
	d.number(what+": dim", got.Dim, want.GetVectors().GetDim())
	d.check(slices.Equal(bools(got.Valid), want.GetValidData()), "%s: validity marks", what)
	kind, data, strings := columnOf(want)
	d.check(got.Kind == kind, "%s: kind %d, want %d", what, got.Kind, kind)
	d.check(slices.Equal(data, normal(got)), "%s: its values", what)
	d.strings(what, got.Strings, strings)
}

// normal is the data of a column with every varint in its shortest form, as
// columnOf writes them.
func normal(f *wire.Field) []byte {
	switch f.Kind {
	case wire.Bools, wire.Ints, wire.Longs, wire.Timestamptz:
		return packedNumbers(f.Kind, varints[int64](f.Data))
	}
	return f.Data
}

func packedNumbers[T ~int32 | ~int64](kind wire.Kind, values []T) []byte {
	var out []byte
	for _, v := range values {
		x := uint64(v)
		if kind == wire.Bools {
			x = protowire.EncodeBool(v != 0)
		} else if kind == wire.Ints {
			x = uint64(int32(v))
		}
		out = protowire.AppendVarint(out, x)
	}
	return out
}

// columnOf is what the walk should find in a column.
func columnOf(f *schemapb.FieldData) (wire.Kind, []byte, [][]byte) {
	switch v := f.GetVectors().GetData().(type) {
	case *schemapb.VectorField_FloatVector:
		return wire.FloatVector, fixed(v.FloatVector.GetData()), nil
	case *schemapb.VectorField_BinaryVector:
		return wire.BinaryVector, v.BinaryVector, nil
	case *schemapb.VectorField_Float16Vector:
		return wire.Float16Vector, v.Float16Vector, nil
	case *schemapb.VectorField_Bfloat16Vector:
		return wire.BFloat16Vector, v.Bfloat16Vector, nil
	case *schemapb.VectorField_SparseFloatVector:
		return wire.SparseVector, nil, strs(v.SparseFloatVector.GetContents())
	case *schemapb.VectorField_Int8Vector:
		return wire.Int8Vector, v.Int8Vector, nil
	case *schemapb.VectorField_VectorArray:
		return wire.VectorArray, nil, nil
	}
	switch v := f.GetScalars().GetData().(type) {
	case *schemapb.ScalarField_BoolData:
		var ints []int32
		for _, b := range v.BoolData.GetData() {
			ints = append(ints, int32(protowire.EncodeBool(b)))
		}
		return wire.Bools, packedNumbers(wire.Bools, ints), nil
	case *schemapb.ScalarField_IntData:
		return wire.Ints, packedNumbers(wire.Ints, v.IntData.GetData()), nil
	case *schemapb.ScalarField_LongData:
		return wire.Longs, packedNumbers(wire.Longs, v.LongData.GetData()), nil
	case *schemapb.ScalarField_FloatData:
		return wire.Floats, fixed(v.FloatData.GetData()), nil
	case *schemapb.ScalarField_DoubleData:
		return wire.Doubles, fixed(v.DoubleData.GetData()), nil
	case *schemapb.ScalarField_StringData:
		return wire.Texts, nil, strs(v.StringData.GetData())
	case *schemapb.ScalarField_BytesData:
		return wire.Blobs, nil, strs(v.BytesData.GetData())
	case *schemapb.ScalarField_ArrayData:
		var rows [][]byte
		for _, row := range v.ArrayData.GetData() {
			b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(row)
			rows = append(rows, b)
		}
		return wire.Arrays, nil, rows
	case *schemapb.ScalarField_JsonData:
		return wire.JSONs, nil, strs(v.JsonData.GetData())
	case *schemapb.ScalarField_GeometryData:
		return wire.Geometry, nil, strs(v.GeometryData.GetData())
	case *schemapb.ScalarField_TimestamptzData:
		return wire.Timestamptz, packedNumbers(wire.Timestamptz, v.TimestamptzData.GetData()), nil
	case *schemapb.ScalarField_GeometryWktData:
		return wire.GeometryWKT, nil, strs(v.GeometryWktData.GetData())
	}
	return wire.None, nil, nil
}

func (d *differences) delete(got *wire.Delete, want *msgpb.DeleteRequest) {
	d.base(got.Base, want.GetBase())
	d.text("shard", got.Shard, want.GetShardName())
	d.text("partition name", got.PartitionName, want.GetPartitionName())
	d.number("collection", got.Collection, want.GetCollectionID())
	d.number("partition", got.Partition, want.GetPartitionID())
	d.number("rows", int64(got.Rows), want.GetNumRows())
	d.times(got.Timestamps, got.MinTS, got.MaxTS, want.GetTimestamps())
	ints, strings := want.GetPrimaryKeys().GetIntId().GetData(), strs(want.GetPrimaryKeys().GetStrId().GetData())
	if len(ints) == 0 && want.GetPrimaryKeys().GetStrId() == nil {
		ints = want.GetInt64PrimaryKeys()
	}
	d.check(slices.Equal(varints[int64](got.IntKeys), ints), "keys")
	d.strings("keys", got.StrKeys, strings)
}
