package roundtrip

import (
	"fmt"
	"strconv"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"pgregory.net/rapid"
)

// scalars are the types of which arrays, keys aside, and nulls can be.
var scalars = []schemapb.DataType{
	schemapb.DataType_Bool, schemapb.DataType_Int8, schemapb.DataType_Int16, schemapb.DataType_Int32, schemapb.DataType_Int64,
	schemapb.DataType_Float, schemapb.DataType_Double, schemapb.DataType_VarChar,
}

// others can be null as scalars can.
var others = []schemapb.DataType{
	schemapb.DataType_String, schemapb.DataType_Text, schemapb.DataType_JSON, schemapb.DataType_Geometry, schemapb.DataType_Timestamptz,
	schemapb.DataType_Array,
}

var vectors = []schemapb.DataType{
	schemapb.DataType_FloatVector, schemapb.DataType_BinaryVector, schemapb.DataType_Float16Vector, schemapb.DataType_BFloat16Vector,
	schemapb.DataType_Int8Vector, schemapb.DataType_SparseFloatVector,
}

// field is a field of a drawn schema.
type field struct {
	pb     *schemapb.FieldSchema
	dim    int
	absent []byte // of rows whose message leaves the column out; nil: null
	// mayLeave: a sender of 2.6 may leave the column out.
	mayLeave bool
}

// drawFields draws a schema with an Int64 or VarChar key.
func drawFields(t *rapid.T) []*field {
	key := &field{pb: &schemapb.FieldSchema{FieldID: 100, Name: "pk", IsPrimaryKey: true,
		DataType: rapid.SampledFrom([]schemapb.DataType{schemapb.DataType_Int64, schemapb.DataType_VarChar}).Draw(t, "key type")}}
	out := []*field{key}
	all := append(append(append([]schemapb.DataType{}, scalars...), others...), vectors...)
	for i := range rapid.IntRange(0, 6).Draw(t, "fields") {
		f := &field{pb: &schemapb.FieldSchema{FieldID: int64(101 + i), Name: fmt.Sprintf("f%d", i), DataType: rapid.SampledFrom(all).Draw(t, "type")}}
		f.draw(t)
		out = append(out, f)
	}
	if rapid.Bool().Draw(t, "dynamic") {
		out = append(out, &field{pb: &schemapb.FieldSchema{FieldID: int64(100 + len(out)), Name: "$meta", DataType: schemapb.DataType_JSON, IsDynamic: true},
			absent: []byte("{}"), mayLeave: true})
	}
	return out
}

func (f *field) draw(t *rapid.T) {
	if f.pb.GetDataType() >= schemapb.DataType_BinaryVector {
		f.dim = rapid.SampledFrom([]int{1, 2, 3, 4, 5, 1536}).Draw(t, "dim")
		if f.pb.GetDataType() == schemapb.DataType_BinaryVector {
			f.dim *= 8
		}
		if f.pb.GetDataType() != schemapb.DataType_SparseFloatVector {
			f.pb.TypeParams = []*commonpb.KeyValuePair{{Key: "dim", Value: strconv.Itoa(f.dim)}}
		}
		return
	}
	if f.pb.GetDataType() == schemapb.DataType_Array {
		f.pb.ElementType = rapid.SampledFrom(scalars).Draw(t, "element")
	}
	f.pb.Nullable = rapid.Bool().Draw(t, "nullable")
	if rapid.Bool().Draw(t, "default") {
		f.pb.DefaultValue = f.defaultValue(t)
	}
	f.mayLeave = f.pb.Nullable || f.absent != nil
}

// defaultValue draws one where the type can have it.
func (f *field) defaultValue(t *rapid.T) (v *schemapb.ValueField) {
	c := &cells{}
	c.draw(t, f, 1, false)
	switch d := c.scalars.GetData().(type) {
	case *schemapb.ScalarField_BoolData:
		v = &schemapb.ValueField{Data: &schemapb.ValueField_BoolData{BoolData: d.BoolData.GetData()[0]}}
	case *schemapb.ScalarField_IntData:
		v = &schemapb.ValueField{Data: &schemapb.ValueField_IntData{IntData: d.IntData.GetData()[0]}}
	case *schemapb.ScalarField_LongData:
		v = &schemapb.ValueField{Data: &schemapb.ValueField_LongData{LongData: d.LongData.GetData()[0]}}
	case *schemapb.ScalarField_TimestamptzData:
		v = &schemapb.ValueField{Data: &schemapb.ValueField_TimestamptzData{TimestamptzData: d.TimestamptzData.GetData()[0]}}
	case *schemapb.ScalarField_FloatData:
		v = &schemapb.ValueField{Data: &schemapb.ValueField_FloatData{FloatData: d.FloatData.GetData()[0]}}
	case *schemapb.ScalarField_DoubleData:
		v = &schemapb.ValueField{Data: &schemapb.ValueField_DoubleData{DoubleData: d.DoubleData.GetData()[0]}}
	case *schemapb.ScalarField_StringData:
		v = &schemapb.ValueField{Data: &schemapb.ValueField_StringData{StringData: d.StringData.GetData()[0]}}
	case *schemapb.ScalarField_JsonData:
		v = &schemapb.ValueField{Data: &schemapb.ValueField_BytesData{BytesData: d.JsonData.GetData()[0]}}
	default:
		return nil
	}
	f.absent = c.want[0]
	return v
}
