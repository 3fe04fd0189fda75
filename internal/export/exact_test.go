package export_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"flowgraph/internal/archive"
	"flowgraph/internal/export"
	"flowgraph/internal/testlog"
)

// answer is what Milvus answered: rows by collection, partition and field.
type answer struct {
	Collection string
	Partition  *string // nil where a partition key decides
	Row        map[string]any
}

func answers(t *testing.T, recording string) []answer {
	t.Helper()
	var out []answer
	for d := newDecoder(bytes.NewReader(testlog.Unzipped(t, path(recording, "rows.jsonl.gz")))); d.More(); {
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
