package wire_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/msgpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"flowgraph/stages/wire"
)

// Columns are read over those of the message before: whatever that was, a
// column says what it says read alone, and does not change any more when the
// record before is overwritten.
func TestWhatWasReadBeforeDoesNotShowInAColumn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var columns []wire.Field
		var before []byte
		m, spelling := drawInsert(t), drawSpelling(t)
		for range rapid.IntRange(2, 8).Draw(t, "messages") {
			if rapid.IntRange(0, 3).Draw(t, "like the last") == 0 {
				m, spelling = drawInsert(t), drawSpelling(t)
			}
			value := written(t, m, spelling)
			var in wire.Insert
			if in.Parse(value) != nil {
				continue
			}
			alone, want := in.Columns(nil)
			read, err := in.Columns(columns[:0])
			clear(before)
			if (err == nil) != (want == nil) || err != nil && err.Error() != want.Error() {
				t.Fatalf("%x: %v, alone %v", value, err, want)
			}
			if !slices.EqualFunc(read, alone, sameColumn) {
				t.Fatalf("%x:\n%+v\nalone\n%+v", value, read, alone)
			}
			columns, before = read, value
		}
	})
}

func sameColumn(a, b wire.Field) bool {
	return a.ID == b.ID && bytes.Equal(a.Name, b.Name) && a.Type == b.Type && a.Kind == b.Kind && a.Dim == b.Dim &&
		bytes.Equal(a.Data, b.Data) && bytes.Equal(a.Valid, b.Valid) && (a.Valid == nil) == (b.Valid == nil) &&
		a.Strings.Len() == b.Strings.Len() && slices.EqualFunc(slices.Collect(a.Strings.All), slices.Collect(b.Strings.All), bytes.Equal)
}

func drawSpelling(t *rapid.T) spelling { return rapid.SampledFrom(spellings).Draw(t, "spelling") }

func drawInsert(t *rapid.T) *msgpb.InsertRequest {
	m := &msgpb.InsertRequest{NumRows: 2}
	for range rapid.IntRange(1, 3).Draw(t, "columns") {
		m.FieldsData = append(m.FieldsData, drawColumn(t))
	}
	return m
}

// written is the insert with other numbers as long as its own, at times with
// a byte that no sender writes there, and with a name that is said twice.
func written(t *rapid.T, m *msgpb.InsertRequest, s spelling) []byte {
	for _, f := range m.GetFieldsData() {
		numbers := f.GetScalars().GetLongData().GetData()
		for i := range numbers {
			if numbers[i] < 128 {
				numbers[i] = rapid.Int64Range(1, 127).Draw(t, "value")
			}
		}
	}
	value := s.marshal(m.ProtoReflect())
	switch rapid.IntRange(0, 7).Draw(t, "broken") {
	case 0:
		value[rapid.IntRange(0, len(value)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
	case 1:
		column := protowire.AppendTag(s.marshal(m.GetFieldsData()[0].ProtoReflect()), 2, protowire.BytesType)
		column = append(column, 0x82, 0x80, 0x00, 'p', 'q') // a length of two in three bytes
		value = protowire.AppendBytes(protowire.AppendTag(value, 13, protowire.BytesType), column)
	}
	return value
}

func drawColumn(t *rapid.T) *schemapb.FieldData {
	f := &schemapb.FieldData{
		FieldId: rapid.SampledFrom([]int64{100, 101, 0}).Draw(t, "field"), FieldName: rapid.SampledFrom([]string{"pk", "vec", ""}).Draw(t, "name"),
		IsDynamic: rapid.Bool().Draw(t, "dynamic"),
	}
	number := rapid.SampledFrom([]int64{1, 2, 200, 1 << 40})
	numbers := rapid.SliceOfN(number, 0, 3).Draw(t, "values")
	scalars := func(s *schemapb.ScalarField) { f.Field = &schemapb.FieldData_Scalars{Scalars: s} }
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		scalars(&schemapb.ScalarField{Data: &schemapb.ScalarField_LongData{LongData: &schemapb.LongArray{Data: numbers}}})
	case 1:
		texts := make([]string, len(numbers))
		for i, n := range numbers {
			texts[i] = string(rune('a' + n%20))
		}
		scalars(&schemapb.ScalarField{Data: &schemapb.ScalarField_StringData{StringData: &schemapb.StringArray{Data: texts}}})
	case 2:
		floats := make([]float32, len(numbers))
		for i, n := range numbers {
			floats[i] = float32(n)
		}
		f.Field = &schemapb.FieldData_Vectors{Vectors: &schemapb.VectorField{Dim: 1, Data: &schemapb.VectorField_FloatVector{FloatVector: &schemapb.FloatArray{Data: floats}}}}
	case 3:
		f.Field = &schemapb.FieldData_Vectors{Vectors: &schemapb.VectorField{Dim: 8, Data: &schemapb.VectorField_BinaryVector{BinaryVector: []byte{byte(len(numbers)), 7}}}}
	}
	if rapid.IntRange(0, 4).Draw(t, "nulls") == 0 {
		f.ValidData = []bool{true, rapid.Bool().Draw(t, "valid")}
	}
	return f
}
