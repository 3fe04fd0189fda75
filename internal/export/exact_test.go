package export_test

import (
	"bufio"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"flowgraph/internal/archive"
	"flowgraph/internal/export"
)

// answer is what Milvus answered: rows by collection, partition and field.
type answer struct {
	Collection string
	Partition  *string // nil where a partition key decides
	Row        map[string]any
}

func answers(t *testing.T, recording string) []answer {
	t.Helper()
	f, err := os.Open(path(recording, "rows.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []answer
	for d := newDecoder(bufio.NewReader(z)); d.More(); {
		var a answer
		if err := d.Decode(&a); err != nil {
			t.Fatal(err)
		}
		out = append(out, a)
	}
	return out
}

// exported writes a collection of an archive and returns the folder's files.
func exported(t *testing.T, a *archive.Archive, o archive.LiveOptions, w export.Options) *export.Result {
	t.Helper()
	l, err := a.Live(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	w.Dir = t.TempDir()
	r, err := export.Write(t.Context(), l, w)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// readFile reads a Parquet file into one table.
func readFile(t *testing.T, path string) arrow.Table {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := pqarrow.ReadTable(t.Context(), f, parquet.NewReaderProperties(memory.NewGoAllocator()), pqarrow.ArrowReadProperties{}, memory.NewGoAllocator())
	if err != nil {
		t.Fatalf("%s: %v", filepath.Base(path), err)
	}
	return table
}

// rowTexts writes every row as JSON with sorted names, floats by their bits.
func rowTexts(t *testing.T, table arrow.Table) []string {
	t.Helper()
	var out []string
	r := array.NewTableReader(table, 0)
	defer r.Release()
	for r.Next() {
		batch := r.RecordBatch()
		for i := range int(batch.NumRows()) {
			row := map[string]any{}
			for c := range int(batch.NumCols()) {
				name, v := batch.ColumnName(c), cell(t, batch.Column(c), i)
				if name == "$meta" && v != nil { // Milvus answers its keys beside the fields
					for k, v := range v.(map[string]any) {
						row[k] = v
					}
					continue
				}
				row[name] = v
			}
			out = append(out, canonical(t, row))
		}
	}
	return out
}

// cell is a value as it is compared: JSON parsed, floats by their bits.
func cell(t *testing.T, a arrow.Array, i int) any {
	t.Helper()
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.Boolean:
		return a.Value(i)
	case *array.Int8:
		return number(a.Value(i))
	case *array.Int16:
		return number(a.Value(i))
	case *array.Int32:
		return number(a.Value(i))
	case *array.Int64:
		return number(a.Value(i))
	case *array.Uint8:
		return number(a.Value(i))
	case *array.Uint64:
		return number(a.Value(i))
	case *array.Float32:
		return fmt.Sprintf("float %08x", math.Float32bits(a.Value(i)))
	case *array.Float64:
		return fmt.Sprintf("double %016x", math.Float64bits(a.Value(i)))
	case *array.String:
		var v any
		if text := a.Value(i); strings.HasPrefix(text, "{") {
			if err := newDecoder(strings.NewReader(text)).Decode(&v); err != nil {
				t.Fatal(err)
			}
			return v
		}
		return a.Value(i)
	case *array.List:
		return list(t, a, i)
	case *array.FixedSizeList:
		return list(t, a, i)
	}
	t.Fatalf("a column of %s", a.DataType())
	return nil
}

func list(t *testing.T, a array.ListLike, i int) any {
	out := []any{}
	from, to := a.ValueOffsets(i)
	for at := from; at < to; at++ {
		out = append(out, cell(t, a.ListValues(), int(at)))
	}
	return out
}

func number[T int8 | int16 | int32 | int64 | uint8 | uint64](v T) json.Number {
	return json.Number(fmt.Sprint(v))
}

func canonical(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// like gives an answered value the form of cell, by the column's type.
func like(t *testing.T, field arrow.DataType, v any) any {
	t.Helper()
	switch field.ID() {
	case arrow.FLOAT32:
		f, err := strconv.ParseFloat(v.(json.Number).String(), 64)
		if err != nil {
			t.Fatal(err)
		}
		if float64(float32(f)) != f {
			t.Fatalf("%v is no float32", v)
		}
		return fmt.Sprintf("float %08x", math.Float32bits(float32(f)))
	case arrow.FLOAT64:
		f, err := strconv.ParseFloat(v.(json.Number).String(), 64)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("double %016x", math.Float64bits(f))
	case arrow.LIST, arrow.FIXED_SIZE_LIST:
		element := field.(arrow.ListLikeType).Elem()
		values := v.([]any)
		if element.ID() == arrow.UINT8 { // [hex]
			raw, err := hex.DecodeString(values[0].(string))
			if err != nil {
				t.Fatal(err)
			}
			values = nil
			for _, b := range raw {
				values = append(values, number(b))
			}
			return values
		}
		out := []any{}
		for _, e := range values {
			out = append(out, like(t, element, e))
		}
		return out
	}
	return v
}

func TestExportIsWhatMilvusAnswers(t *testing.T) {
	for _, name := range recordings {
		t.Run(name, func(t *testing.T) {
			a := archived(t, name)
			want := map[string]map[string][]string{} // by collection, by partition
			tables := map[string]map[string]arrow.Table{}
			all := answers(t, name)
			for _, row := range all {
				if want[row.Collection] == nil {
					want[row.Collection], tables[row.Collection] = map[string][]string{}, map[string]arrow.Table{}
					r := exported(t, a, archive.LiveOptions{Collection: row.Collection, Unique: name == "concurrent"}, export.Options{})
					for _, f := range r.Files {
						tables[row.Collection][f.Name] = readFile(t, f.Path)
						if n := tables[row.Collection][f.Name].NumRows(); n != f.Rows {
							t.Errorf("%s: %d rows, said to be %d", f.Path, n, f.Rows)
						}
					}
				}
			}
			for _, row := range all {
				partition, schema := "", (*arrow.Schema)(nil)
				if row.Partition != nil {
					partition = *row.Partition
				}
				for _, table := range tables[row.Collection] {
					schema = table.Schema()
				}
				for field, v := range row.Row {
					if i := schema.FieldIndices(field); len(i) == 1 {
						row.Row[field] = like(t, schema.Field(i[0]).Type, v)
					}
				}
				want[row.Collection][partition] = append(want[row.Collection][partition], canonical(t, row.Row))
			}
			for collection, partitions := range want {
				got := map[string][]string{}
				for partition, table := range tables[collection] {
					if partitions[""] != nil {
						partition = ""
					}
					got[partition] = append(got[partition], rowTexts(t, table)...)
				}
				for partition, rows := range got {
					compare(t, collection+"/"+partition, rows, partitions[partition])
				}
				for partition := range partitions {
					if got[partition] == nil {
						t.Errorf("%s/%s is missing", collection, partition)
					}
				}
			}
		})
	}
}

// compare holds two lists against each other, whatever their order.
func compare(t *testing.T, what string, got, want []string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if len(got) != len(want) {
		t.Errorf("%s: %d rows, want %d", what, len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("%s: row\n%s\nwant\n%s", what, got[i], want[i])
		}
	}
}

func newDecoder(r interface{ Read([]byte) (int, error) }) *json.Decoder {
	d := json.NewDecoder(r)
	d.UseNumber() // integers of 64 bits stay
	return d
}
