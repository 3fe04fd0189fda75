package stages_test

import (
	"strings"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/encoding/protowire"
)

func scalarColumn(s *schemapb.ScalarField) *schemapb.FieldData {
	return &schemapb.FieldData{FieldId: 101, Field: &schemapb.FieldData_Scalars{Scalars: s}}
}

func vectorColumn(v *schemapb.VectorField) *schemapb.FieldData {
	return &schemapb.FieldData{FieldId: 101, Field: &schemapb.FieldData_Vectors{Vectors: v}}
}

func arrayColumn(rows ...*schemapb.ScalarField) *schemapb.FieldData {
	return scalarColumn(&schemapb.ScalarField{Data: &schemapb.ScalarField_ArrayData{ArrayData: &schemapb.ArrayArray{Data: rows}}})
}

// rawArrays is an array column whose rows are any bytes.
func rawArrays(rows ...string) *schemapb.FieldData {
	var array []byte
	for _, r := range rows {
		array = nested(array, 1, []byte(r))
	}
	f := &schemapb.FieldData{FieldId: 101}
	f.ProtoReflect().SetUnknown(nested(nil, 3, nested(nil, 8, array))) // scalars, array_data
	return f
}

// What cannot be stored as Milvus would read it goes to quarantine, and the
// operator reads the field's name and what is wrong with it.
func TestValuesThatCannotBeStoredAreRefusedByName(t *testing.T) {
	longArray := &schemapb.ScalarField{Data: &schemapb.ScalarField_LongData{LongData: &schemapb.LongArray{Data: []int64{1}}}}
	textArray := &schemapb.ScalarField{Data: &schemapb.ScalarField_StringData{StringData: &schemapb.StringArray{Data: []string{"a"}}}}
	badText := string(nested(nil, 6, nested(nil, 1, []byte("\xff"))))
	sparse := func(rows ...[]byte) *schemapb.FieldData {
		return vectorColumn(&schemapb.VectorField{Data: &schemapb.VectorField_SparseFloatVector{SparseFloatVector: &schemapb.SparseFloatArray{Contents: rows}}})
	}
	dim := []*commonpb.KeyValuePair{{Key: "dim", Value: "8"}}
	for _, c := range []struct {
		name    string
		field   *schemapb.FieldSchema
		column  *schemapb.FieldData
		want    string
		element schemapb.DataType
	}{
		{"a vector of vectors", &schemapb.FieldSchema{DataType: schemapb.DataType_ArrayOfVector, TypeParams: dim},
			vectorColumn(&schemapb.VectorField{Data: &schemapb.VectorField_VectorArray{VectorArray: &schemapb.VectorArray{}}}), "type ArrayOfVector is not supported", 0},
		{"an array of structs", &schemapb.FieldSchema{DataType: schemapb.DataType_ArrayOfStruct},
			&schemapb.FieldData{FieldId: 101, Field: &schemapb.FieldData_StructArrays{}}, "type ArrayOfStruct is not supported", 0},
		{"geometry as text", &schemapb.FieldSchema{DataType: schemapb.DataType_Geometry},
			scalarColumn(&schemapb.ScalarField{Data: &schemapb.ScalarField_GeometryWktData{GeometryWktData: &schemapb.GeometryWktArray{Data: []string{"a", "b"}}}}), "a geometry as text (WKT)", 0},
		{"half a sparse entry", &schemapb.FieldSchema{DataType: schemapb.DataType_SparseFloatVector}, sparse(make([]byte, 8), make([]byte, 12)), "a sparse vector of 12 bytes", 0},
		{"an array cut short", &schemapb.FieldSchema{DataType: schemapb.DataType_Array}, rawArrays("\x1a\x05", ""), "an array: malformed message", schemapb.DataType_Int64},
		{"an array of another type", &schemapb.FieldSchema{DataType: schemapb.DataType_Array}, arrayColumn(longArray, textArray), "an array of another type than Int64", schemapb.DataType_Int64},
		{"a broken text in an array", &schemapb.FieldSchema{DataType: schemapb.DataType_Array}, rawArrays(badText, ""), "a text in an array is not UTF-8", schemapb.DataType_VarChar},
		{"three half vectors", &schemapb.FieldSchema{DataType: schemapb.DataType_Float16Vector, TypeParams: dim},
			vectorColumn(&schemapb.VectorField{Data: &schemapb.VectorField_Float16Vector{Float16Vector: make([]byte, 24)}}), "24 bytes are no multiple", 0},
		{"a vector without a dimension", &schemapb.FieldSchema{DataType: schemapb.DataType_FloatVector}, longs(101, []int64{1, 2}), "type FloatVector is not supported", 0},
		{"marks for one row", &schemapb.FieldSchema{DataType: schemapb.DataType_Int64, Nullable: true},
			&schemapb.FieldData{FieldId: 101, ValidData: []bool{true}, Field: longs(101, []int64{1, 2}).Field}, "1 validity marks for 2 rows", 0},
		{"only the values that are not null", &schemapb.FieldSchema{DataType: schemapb.DataType_Int64, Nullable: true},
			&schemapb.FieldData{FieldId: 101, ValidData: []bool{true, false}, Field: longs(101, []int64{1}).Field}, "1 values for 2 rows", 0},
	} {
		c.field.FieldID, c.field.Name, c.field.ElementType = 101, "f", c.element
		want := `bad: field "f" (101): ` + c.want
		if got := taken(t, defined(nil, c.field), true, c.column); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", c.name, got, want)
		}
	}
	structs := defined(func(s *schemapb.CollectionSchema) {
		s.StructArrayFields = []*schemapb.StructArrayFieldSchema{{FieldID: 102, Name: "st", Fields: []*schemapb.FieldSchema{{FieldID: 103, Name: "st[a]"}}}}
	})
	if got := taken(t, structs, true, longs(103, []int64{1, 2})); !strings.HasPrefix(got, `bad: field "st" (102): type ArrayOfStruct is not supported`) {
		t.Errorf("a schema with structs: %s", got)
	}
}

// The bytes of an array are Milvus' own: another spelling of the same message
// would be another value to whoever compares.
func TestAnArrayKeepsItsBytes(t *testing.T) {
	unpacked := string(nested(nil, 3, protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 5)))
	f := &schemapb.FieldSchema{FieldID: 101, Name: "f", DataType: schemapb.DataType_Array, ElementType: schemapb.DataType_Int64}
	if got, want := taken(t, defined(nil, f), false, rawArrays(unpacked, "")), `101: "\x1a\x02\b\x05" ""`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
