package export

import (
	"bytes"
	"testing"

	parquetfile "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/internal/archive"
	"flowgraph/stages/column"
)

// A group is in memory whole, here and in every reader.
func TestRowGroupsAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		field  column.Field
		rows   int
		groups []int64
	}{
		"rows":  {column.Field{ID: 100, Name: "n", Type: schemapb.DataType_Int64}, 2*groupRows + 1, []int64{groupRows, groupRows, 1}},
		"bytes": {column.Field{ID: 100, Name: "v", Type: schemapb.DataType_FloatVector, Dim: 1 << 18}, 130, []int64{64, 64, 2}},
		"none":  {column.Field{ID: 100, Name: "n", Type: schemapb.DataType_Int64}, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			fields := []archive.LiveField{{Field: c.field}}
			schema, err := schemaOf(fields, func(int64) bool { return false })
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			f, err := newFile(&counter{w: &out}, schema, fields, 0)
			if err != nil {
				t.Fatal(err)
			}
			row := archive.Row{Values: [][]byte{make([]byte, c.field.Width())}}
			for range c.rows {
				if err := f.append(row); err != nil {
					t.Fatal(err)
				}
			}
			if err := f.close(); err != nil {
				t.Fatal(err)
			}
			r, err := parquetfile.NewParquetReader(bytes.NewReader(out.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			if r.NumRowGroups() != len(c.groups) || r.NumRows() != int64(c.rows) {
				t.Fatalf("%d row groups, %d rows", r.NumRowGroups(), r.NumRows())
			}
			for i, want := range c.groups {
				if got := r.MetaData().RowGroup(i).NumRows(); got != want {
					t.Errorf("group %d has %d rows, want %d", i, got, want)
				}
			}
		})
	}
}

func TestAValueThatDoesNotFitIsAnError(t *testing.T) {
	for _, s := range samples(t, false) {
		fields := []archive.LiveField{{Field: s.field}}
		schema, err := schemaOf(fields, func(int64) bool { return false })
		if err != nil {
			t.Fatal(err)
		}
		f, err := newFile(&counter{w: &bytes.Buffer{}}, schema, fields, 0)
		if err != nil {
			t.Fatal(err)
		}
		wrong := append([]byte{0xff}, s.values[0]...)
		err = f.append(archive.Row{Values: [][]byte{wrong}})
		text := s.field.Type == schemapb.DataType_VarChar || s.field.Type == schemapb.DataType_Text || s.field.Type == schemapb.DataType_JSON || s.field.Type == schemapb.DataType_Geometry
		if (err == nil) != text {
			t.Errorf("%s takes %x: %v", s.field.Name, wrong, err)
		}
	}
	if _, err := schemaOf([]archive.LiveField{{Field: column.Field{ID: 100, Name: "s", Type: schemapb.DataType_ArrayOfStruct}}}, func(int64) bool { return false }); err == nil {
		t.Error("an array of structs has a column")
	}
}
