package stages_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/msgpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/stages"
)

// defined is the creation of collection 1 with these fields behind an Int64 key.
func defined(edit func(*schemapb.CollectionSchema), fields ...*schemapb.FieldSchema) stages.Record {
	s := &schemapb.CollectionSchema{Name: "docs", Fields: append([]*schemapb.FieldSchema{
		{FieldID: 100, Name: "pk", IsPrimaryKey: true, DataType: schemapb.DataType_Int64}}, fields...)}
	if edit != nil {
		edit(s)
	}
	return stages.Record{Value: marshal(&msgpb.CreateCollectionRequest{
		//lint:ignore SA1019 Milvus up to 2.5 fills this field
		Base: &commonpb.MsgBase{MsgType: commonpb.MsgType_CreateCollection}, CollectionID: 1, Schema: marshal(s)})}
}

// taken sends an insert of two rows with these columns behind the key's, in
// the form of 2.5 or 2.6, and renders what became of it: the columns by field,
// or why it is a bad record.
func taken(t *testing.T, create stages.Record, wal bool, columns ...*schemapb.FieldData) string {
	t.Helper()
	return takenRows(t, create, wal, []int64{1, 2}, columns...)
}

func takenRows(t *testing.T, create stages.Record, wal bool, rows []int64, columns ...*schemapb.FieldData) string {
	t.Helper()
	r := rec{off: 1, op: insertOp, coll: 1, part: 11, seg: 5, rows: rows, ts: 1 << 40}
	m := insertOf(r)
	m.FieldsData = append([]*schemapb.FieldData{longs(100, r.rows)}, columns...)
	if wal {
		r.op = memberOp
	}
	record := r.record()
	record.Value = marshal(m)
	l := newLine(t, flushEach())
	l.poll(create)
	var out []string
	for _, c := range l.poll(record) {
		for _, b := range c.Bad {
			out = append(out, "bad: "+b.Reason)
		}
		for _, col := range c.Columns {
			if col.Field.ID > 100 {
				text := fmt.Sprint(col.Field.ID, ":")
				for v, ok := range col.Values() {
					text += fmt.Sprintf(" %q", v)
					if !ok {
						text = strings.TrimSuffix(text, ` ""`) + " null"
					}
				}
				out = append(out, text)
			}
		}
	}
	if l.err != nil {
		t.Fatal(l.err)
	}
	return strings.Join(out, ", ")
}

// Milvus 2.6 sends no column for what has a default or can be null. A row must
// not be lost for that; nor may a column that an earlier release would have
// sent be made up.
func TestAMissingColumnHasItsDefaultOrNullOrIsBad(t *testing.T) {
	seven := &schemapb.ValueField{Data: &schemapb.ValueField_LongData{LongData: 7}}
	text := &schemapb.ValueField{Data: &schemapb.ValueField_StringData{StringData: ""}}
	for _, c := range []struct {
		name           string
		field          *schemapb.FieldSchema
		want25, want26 string
	}{
		{"required", &schemapb.FieldSchema{DataType: schemapb.DataType_Int64}, "bad: field", "bad: field"},
		{"nullable", &schemapb.FieldSchema{DataType: schemapb.DataType_VarChar, Nullable: true}, "101: null null", "101: null null"},
		{"with a default", &schemapb.FieldSchema{DataType: schemapb.DataType_Int32, DefaultValue: seven}, "bad: field", `101: "\a\x00\x00\x00" "\a\x00\x00\x00"`},
		{"with an empty default", &schemapb.FieldSchema{DataType: schemapb.DataType_VarChar, DefaultValue: text}, "bad: field", `101: "" ""`},
		{"nullable with a default", &schemapb.FieldSchema{DataType: schemapb.DataType_VarChar, Nullable: true, DefaultValue: text}, `101: "" ""`, `101: "" ""`},
		{"with a default of another type", &schemapb.FieldSchema{DataType: schemapb.DataType_Geometry, DefaultValue: text}, "bad: field", "bad: field"},
		{"dynamic", &schemapb.FieldSchema{DataType: schemapb.DataType_JSON, IsDynamic: true}, `101: "{}" "{}"`, `101: "{}" "{}"`},
		{"dynamic and nullable", &schemapb.FieldSchema{DataType: schemapb.DataType_JSON, IsDynamic: true, Nullable: true}, "101: null null", "101: null null"},
		{"a vector", &schemapb.FieldSchema{DataType: schemapb.DataType_SparseFloatVector}, "bad: field", "bad: field"},
	} {
		c.field.FieldID, c.field.Name = 101, "f"
		for wal, want := range map[bool]string{false: c.want25, true: c.want26} {
			if got := taken(t, defined(nil, c.field), wal); !strings.HasPrefix(got, want) {
				t.Errorf("%s, of 2.6 %t: %s, want %s", c.name, wal, got, want)
			}
		}
	}
}

// A small message whose default is large must not take the worker's memory.
func TestADefaultCannotMakeMuchOfLittle(t *testing.T) {
	huge := &schemapb.ValueField{Data: &schemapb.ValueField_StringData{StringData: strings.Repeat("x", 1<<20)}}
	create := defined(nil, &schemapb.FieldSchema{FieldID: 101, Name: "f", DataType: schemapb.DataType_VarChar, DefaultValue: huge})
	got := takenRows(t, create, true, make([]int64, 1025))
	if !strings.HasPrefix(got, `bad: field "f" (101) is missing in 1025 rows and its default has 1048576 bytes`) {
		t.Errorf("%.100s", got)
	}
}

// What a function computes behind the log is in no message: its rows must not
// be held up by that. A text embedding is sent.
func TestOutputsOfFunctions(t *testing.T) {
	sparse := &schemapb.FieldSchema{FieldID: 101, Name: "bm25", DataType: schemapb.DataType_SparseFloatVector, IsFunctionOutput: true}
	column := &schemapb.FieldData{FieldId: 101, Type: schemapb.DataType_SparseFloatVector, Field: &schemapb.FieldData_Vectors{Vectors: &schemapb.VectorField{
		Data: &schemapb.VectorField_SparseFloatVector{SparseFloatVector: &schemapb.SparseFloatArray{Contents: [][]byte{{}, {}}}}}}}
	of := func(kind schemapb.FunctionType, named bool) stages.Record {
		return defined(func(s *schemapb.CollectionSchema) {
			f := &schemapb.FunctionSchema{Type: kind, OutputFieldIds: []int64{101}}
			if named {
				f.OutputFieldIds, f.OutputFieldNames = nil, []string{"bm25"}
			}
			s.Functions = []*schemapb.FunctionSchema{f}
		}, sparse, &schemapb.FieldSchema{FieldID: 102, Name: "n", DataType: schemapb.DataType_Int64})
	}
	n := longs(102, []int64{1, 2})
	for name, c := range map[string][2]string{
		"BM25":                          {taken(t, of(schemapb.FunctionType_BM25, false), true, n), "102: "},
		"BM25 by name, of 2.5":          {taken(t, of(schemapb.FunctionType_BM25, true), false, n), "102: "},
		"BM25 sent all the same":        {taken(t, of(schemapb.FunctionType_BM25, false), true, column, n), "102: "},
		"an embedding that is sent":     {taken(t, of(schemapb.FunctionType_TextEmbedding, false), true, column, n), `101: "" "", 102: `},
		"an embedding that is not":      {taken(t, of(schemapb.FunctionType_TextEmbedding, false), true, n), `bad: field "bm25" (101) is missing`},
		"BM25 and an unknown column":    {taken(t, of(schemapb.FunctionType_BM25, false), true, n, longs(103, []int64{1, 2})), "bad: 3 columns"},
		"BM25 sent twice":               {taken(t, of(schemapb.FunctionType_BM25, false), true, column, column, n), "bad: 4 columns"},
		"BM25 instead of what it is of": {taken(t, of(schemapb.FunctionType_BM25, false), true, column), `bad: field "n" (102) is missing`},
	} {
		if !strings.HasPrefix(c[0], c[1]) {
			t.Errorf("%s: %s, want %s", name, c[0], c[1])
		}
	}
}
