package export_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"flowgraph/internal/archive"
	"flowgraph/internal/export"
)

func TestPythonReadsWhatMilvusAnswered(t *testing.T) {
	a := archived(t, "all_types")
	want := map[string]map[string]any{} // by key
	for _, row := range answers(t, "all_types") {
		want[row.Row["pk"].(json.Number).String()] = row.Row
	}
	r := exported(t, a, archive.LiveOptions{Collection: "all_types"}, export.Options{SystemColumns: true})
	for reader, read := range export.ReadByPython(t, r.Files[0].Path) {
		if len(read.Rows) != len(want) {
			t.Errorf("%s reads %d rows, want %d", reader, len(read.Rows), len(want))
		}
		types := map[string]map[string]string{
			"pyarrow": {"RowID": "int64", "Timestamp": "uint64", "pk": "int64", "i8": "int8", "f": "float", "s": "string", "j": "string", "$meta": "string",
				"a_int16": "list<element: int16 not null>", "v": "fixed_size_list<element: float not null>[12]"},
			"duckdb": {"RowID": "BIGINT", "Timestamp": "UBIGINT", "pk": "BIGINT", "i8": "TINYINT", "f": "FLOAT", "s": "VARCHAR", "j": "VARCHAR", "$meta": "VARCHAR",
				"a_int16": "SMALLINT[]", "v": "FLOAT[]"},
		}[reader]
		for name, want := range types {
			if read.Types[name] != want {
				t.Errorf("%s: %s is of type %s, want %s", reader, name, read.Types[name], want)
			}
		}
		for _, row := range read.Rows {
			answered := want[row["pk"].(json.Number).String()]
			for _, name := range []string{"pk", "b", "i8", "i16", "i32", "i64", "s", "a_bool", "a_int8", "a_int16", "a_int32", "a_int64", "a_varchar"} {
				if got, want := canonical(t, row[name]), canonical(t, answered[name]); got != want {
					t.Fatalf("%s: %s of %s is %s, want %s", reader, name, row["pk"], got, want)
				}
			}
			for _, name := range []string{"f", "d", "v", "a_float", "a_double"} {
				if got, want := floatsOf(t, row[name]), floatsOf(t, answered[name]); !slices.Equal(got, want) {
					t.Fatalf("%s: %s of %s is %v, want %v", reader, name, row["pk"], got, want)
				}
			}
			var meta map[string]any
			if err := newDecoder(stringOf(row["$meta"])).Decode(&meta); err != nil {
				t.Fatal(err)
			}
			for name := range maps.Keys(meta) {
				if got, want := canonical(t, meta[name]), canonical(t, answered[name]); got != want {
					t.Fatalf("%s: %s of %s is %s, want %s", reader, name, row["pk"], got, want)
				}
			}
		}
	}
}

// floatsOf is a number, or a list of them.
func floatsOf(t *testing.T, v any) []float64 {
	t.Helper()
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var out []float64
	for _, e := range list {
		f, err := e.(json.Number).Float64()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

func stringOf(v any) *strings.Reader {
	text, _ := v.(string)
	return strings.NewReader(text)
}
