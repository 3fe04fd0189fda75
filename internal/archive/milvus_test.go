package archive_test

import (
	"archive/tar"
	"bytes"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/testlog"
	"flowgraph/sinks/binlog"
	"flowgraph/stages/column"
)

// milvusRows are the rows that Milvus itself wrote: by segment, row ID and
// field.
type milvusRows map[int64]map[int64]map[int64][]byte

// milvusFile is one insert log that Milvus wrote.
type milvusFile struct {
	segment, field, log int64
	data                []byte
}

// milvusFiles reads the insert logs of a recording, by segment, field and log.
func milvusFiles(t *testing.T, path string) []milvusFile {
	t.Helper()
	var files []milvusFile
	for r := tar.NewReader(bytes.NewReader(testlog.Unzipped(t, path))); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(strings.Trim(h.Name, "/"), "/")
		if parts[0] != "insert_log" || len(parts) != 6 || h.Typeflag == tar.TypeDir {
			continue
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, milvusFile{number(t, parts[3]), number(t, parts[4]), number(t, parts[5]), data})
	}
	slices.SortFunc(files, func(a, b milvusFile) int {
		return slices.Compare([]int64{a.segment, a.field, a.log}, []int64{b.segment, b.field, b.log})
	})
	return files
}

func number(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// readMilvus zips the fields' files by their place, as Milvus does.
func readMilvus(t *testing.T, path string) milvusRows {
	t.Helper()
	columns := map[int64]map[int64][][]byte{} // segment, field
	for _, f := range milvusFiles(t, path) {
		log, err := binlog.Read(f.data)
		if err != nil {
			t.Fatal(err)
		}
		if columns[f.segment] == nil {
			columns[f.segment] = map[int64][][]byte{}
		}
		for v := range log.Rows.Values() {
			columns[f.segment][f.field] = append(columns[f.segment][f.field], v)
		}
	}
	rows := milvusRows{}
	for segment, fields := range columns {
		rows[segment] = map[int64]map[int64][]byte{}
		for i, id := range fields[column.RowID] {
			row := map[int64][]byte{}
			for field, values := range fields {
				row[field] = values[i]
			}
			rows[segment][column.Int64(id)] = row
		}
	}
	return rows
}

func TestEverySegmentHoldsTheRowsThatMilvusWrote(t *testing.T) {
	for _, name := range recordings {
		t.Run(name, func(t *testing.T) {
			r := recorded(t, name)
			a := open(t, r.bucket)
			want := readMilvus(t, r.path("binlogs.tar.gz"))
			if len(want) == 0 {
				t.Fatal("no segments of Milvus")
			}
			for _, s := range allSegments(t, a) {
				if s.Level == checkpoints.L1 {
					compareSegment(t, a, s, want[s.ID])
					delete(want, s.ID)
				}
			}
			for id := range want {
				t.Errorf("segment %d is missing", id)
			}
		})
	}
}

func compareSegment(t *testing.T, a *archive.Archive, s *archive.Segment, want map[int64]map[int64][]byte) {
	t.Helper()
	n := 0
	for f, err := range a.Flushes(t.Context(), s) {
		if err != nil {
			t.Fatal(err)
		}
		for row := range f.Rows() {
			n++
			compareRow(t, s, row, want[row.ID])
		}
	}
	if n != len(want) {
		t.Errorf("segment %d: %d rows, Milvus wrote %d", s.ID, n, len(want))
	}
}

func compareRow(t *testing.T, s *archive.Segment, row archive.Row, milvus map[int64][]byte) {
	t.Helper()
	if !slices.Equal(s.Fields, slices.Sorted(maps.Keys(milvus))) {
		t.Fatalf("segment %d row %d has fields %v, Milvus' has %v", s.ID, row.ID, s.Fields, slices.Sorted(maps.Keys(milvus)))
	}
	for i, field := range s.Fields {
		if !bytes.Equal(row.Values[i], milvus[field]) {
			t.Fatalf("segment %d row %d field %d: %x, Milvus wrote %x", s.ID, row.ID, field, row.Values[i], milvus[field])
		}
	}
}
