package column

import (
	"os"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
)

// The widths decide where one value ends and the next begins.
func TestParseSchemaOfEveryType(t *testing.T) {
	b, err := os.ReadFile("../../testdata/golden/schema-alltypes.pb")
	if err != nil {
		t.Fatal(err)
	}
	s, err := ParseSchema(b)
	if err != nil {
		t.Fatal(err)
	}
	widths := map[int64]int{RowID: 8, Timestamp: 8, 100: 8, 101: 1, 102: 4, 103: 4, 104: 4, 105: 8, 106: 4, 107: 8, 108: 0, 109: 0,
		110: 0, 111: 16, 112: 2, 113: 8, 114: 8, 115: 0, 116: 0, 117: 8, 118: 4, 119: 1, 120: 0, 121: 0}
	if len(s.Fields) != len(widths) || s.Key.ID != 100 || s.Name != "alltypes" {
		t.Fatalf("%d fields, key %+v", len(s.Fields), s.Key)
	}
	for i, f := range s.Fields {
		if w, ok := widths[f.ID]; !ok || f.Width() != w || !f.Supported() || f.Nullable != (f.ID >= 116) {
			t.Errorf("%+v: width %d, supported %t", f, f.Width(), f.Supported())
		}
		if i > 0 && s.Fields[i-1].ID >= f.ID {
			t.Errorf("field %d after %d", f.ID, s.Fields[i-1].ID)
		}
		if got, ok := s.Field(f.ID); !ok || got.Name != f.Name {
			t.Errorf("field %d is found as %+v", f.ID, got)
		}
	}
	if _, ok := s.Field(99); ok {
		t.Error("field 99 is found")
	}
}

func TestSchemasThatCannotBeFollowedAreRefused(t *testing.T) {
	key := &schemapb.FieldSchema{FieldID: 100, Name: "pk", IsPrimaryKey: true, DataType: schemapb.DataType_Int64}
	dim := func(v string) *schemapb.FieldSchema {
		return &schemapb.FieldSchema{FieldID: 101, Name: "v", DataType: schemapb.DataType_FloatVector, TypeParams: []*commonpb.KeyValuePair{{Key: "dim", Value: v}}}
	}
	for name, fields := range map[string][]*schemapb.FieldSchema{
		"no key": {dim("4")}, "dim 0": {key, dim("0")}, "dim -1": {key, dim("-1")}, "dim x": {key, dim("x")},
	} {
		if _, err := NewSchema(&schemapb.CollectionSchema{Name: "c", Fields: fields}); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if _, err := ParseSchema([]byte{0xff}); err == nil {
		t.Error("bytes that are no message are accepted")
	}
	if (Field{Type: schemapb.DataType_FloatVector}).Supported() || (Field{Type: schemapb.DataType_ArrayOfVector}).Supported() {
		t.Error("a vector without a dimension is supported")
	}
}
