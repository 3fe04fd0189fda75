package binlog

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"flowgraph/stages/column"
)

const (
	golden     = "../../testdata/golden"
	recordings = "../../testdata/recordings"
)

// logFile is one binlog with what its key says.
type logFile struct {
	key                                   string
	collection, partition, segment, field int64 // field -1 of delta logs
	id                                    string
	bytes                                 []byte
}

// parseKey reads .../insert_log/C/P/S/F/L and .../delta_log/C/P/S/L; false
// for anything else.
func parseKey(key string) (logFile, bool) {
	f := logFile{key: key, field: -1}
	at := strings.Index(key, "_log/")
	if at < 0 || strings.HasSuffix(key[:at], "stats") {
		return f, false
	}
	parts := strings.Split(key[at+len("_log/"):], "/")
	ids := []*int64{&f.collection, &f.partition, &f.segment}
	if strings.HasSuffix(key[:at], "insert") {
		ids = append(ids, &f.field)
	}
	if len(parts) != len(ids)+1 {
		return f, false
	}
	for i, id := range ids {
		var err error
		if *id, err = strconv.ParseInt(parts[i], 10, 64); err != nil {
			return f, false
		}
	}
	f.id = parts[len(ids)]
	return f, true
}

// goldenFiles returns everything under a golden folder, by key.
func goldenFiles(t testing.TB, folder string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(filepath.Join(golden, folder), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		out[filepath.ToSlash(path)], err = os.ReadFile(path)
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("golden files in %s: %d, %v", folder, len(out), err)
	}
	return out
}

// recordedFiles returns the files of a recording's Milvus, by key.
func recordedFiles(t testing.TB, name string) map[string][]byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(recordings, name, "binlogs.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if out[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// binlogsOf returns those of the files that are binlogs, sorted by key.
func binlogsOf(files map[string][]byte) (out []logFile) {
	for key, b := range files {
		if f, ok := parseKey(key); ok {
			f.bytes = b
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b logFile) int { return strings.Compare(a.key, b.key) })
	return out
}

// goldenLogs returns the binlogs under a golden folder, by key.
func goldenLogs(t testing.TB, folder string) []logFile {
	t.Helper()
	return binlogsOf(goldenFiles(t, folder))
}

// recordedLogs returns the binlogs of a recording, sorted by key.
func recordedLogs(t testing.TB, name string) []logFile {
	t.Helper()
	return binlogsOf(recordedFiles(t, name))
}

// lines renders a column, one JSON value a row.
func lines(t testing.TB, c *column.Column) []string {
	t.Helper()
	var w bytes.Buffer
	if err := WriteJSON(&w, c); err != nil {
		t.Fatal(err)
	}
	if c.Rows == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(w.String(), "\n"), "\n")
}

// joined is a file as it is stored.
func joined(f *File) []byte { return bytes.Join(f.Parts, nil) }

// sameRows fails unless both columns hold the same values and nulls.
func sameRows(t testing.TB, want, got *column.Column) {
	t.Helper()
	if got.Rows != want.Rows || got.Field.Type != want.Field.Type || got.Field.Dim != want.Field.Dim || got.Field.Nullable != want.Field.Nullable {
		t.Fatalf("got %d rows of %+v, want %d of %+v", got.Rows, got.Field, want.Rows, want.Field)
	}
	type row struct {
		v  []byte
		ok bool
	}
	var rows []row
	for v, ok := range want.Values() {
		rows = append(rows, row{v, ok})
	}
	i := 0
	for v, ok := range got.Values() {
		if ok != rows[i].ok || !bytes.Equal(v, rows[i].v) {
			t.Fatalf("row %d: got %.50x %t, want %.50x %t", i, v, ok, rows[i].v, rows[i].ok)
		}
		i++
	}
	if i != len(rows) {
		t.Fatalf("%d rows were read, not %d", i, len(rows))
	}
}
