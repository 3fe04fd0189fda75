package column

import (
	"fmt"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
)

// A default that is laid out by another type's rule would shift all values
// behind it; one of another type is none.
func TestDefaultsAreValuesOfTheirField(t *testing.T) {
	values := map[string]*schemapb.ValueField{
		"bool": {Data: &schemapb.ValueField_BoolData{BoolData: true}}, "int": {Data: &schemapb.ValueField_IntData{IntData: -2}},
		"long": {Data: &schemapb.ValueField_LongData{LongData: -2}}, "float": {Data: &schemapb.ValueField_FloatData{FloatData: 1.5}},
		"double": {Data: &schemapb.ValueField_DoubleData{DoubleData: 1.5}}, "string": {Data: &schemapb.ValueField_StringData{StringData: "a"}},
		"bytes": {Data: &schemapb.ValueField_BytesData{BytesData: []byte("[1]")}}, "time": {Data: &schemapb.ValueField_TimestamptzData{TimestamptzData: 3}},
		"none": {}, "nil": nil,
	}
	four, eight := "fe ff ff ff", "fe ff ff ff ff ff ff ff"
	want := map[schemapb.DataType]map[string]string{
		schemapb.DataType_Bool: {"bool": "01"}, schemapb.DataType_Int8: {"int": four, "long": four, "time": "03 00 00 00"},
		schemapb.DataType_Int64:       {"int": eight, "long": eight, "time": "03 00 00 00 00 00 00 00"},
		schemapb.DataType_Timestamptz: {"int": eight, "long": eight, "time": "03 00 00 00 00 00 00 00"},
		schemapb.DataType_Float:       {"float": "00 00 c0 3f"}, schemapb.DataType_Double: {"double": "00 00 00 00 00 00 f8 3f"},
		schemapb.DataType_VarChar: {"string": "61"}, schemapb.DataType_Text: {"string": "61"}, schemapb.DataType_String: {"string": "61"},
		schemapb.DataType_JSON: {"bytes": "5b 31 5d"}, schemapb.DataType_Geometry: {}, schemapb.DataType_Array: {}, schemapb.DataType_FloatVector: {},
	}
	for kind, byName := range want {
		for name, v := range values {
			s, err := NewSchema(&schemapb.CollectionSchema{Fields: []*schemapb.FieldSchema{
				{FieldID: 101, DataType: kind, DefaultValue: v}, {FieldID: 100, IsPrimaryKey: true, DataType: schemapb.DataType_Int64}}})
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintf("% x", s.Absent[3]); got != byName[name] || (s.Absent[3] == nil) != (byName[name] == "") {
				t.Errorf("%s by %s: %s, want %s", kind, name, got, byName[name])
			}
			if s.Absent[0] != nil || s.Absent[1] != nil || s.Absent[2] != nil {
				t.Errorf("the system fields or the key have a default: %v", s.Absent)
			}
		}
	}
}

// Half a byte of dimensions would be cut off every vector.
func TestABinaryVectorHasWholeBytes(t *testing.T) {
	for _, dim := range []string{"8", "12", "7"} {
		_, err := NewSchema(&schemapb.CollectionSchema{Fields: []*schemapb.FieldSchema{
			{FieldID: 100, IsPrimaryKey: true, DataType: schemapb.DataType_Int64},
			{FieldID: 101, DataType: schemapb.DataType_BinaryVector, TypeParams: []*commonpb.KeyValuePair{{Key: "dim", Value: dim}}}}})
		if (err == nil) != (dim == "8") {
			t.Errorf("dim %s: %v", dim, err)
		}
	}
}
