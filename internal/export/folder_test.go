package export_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/file"

	"flowgraph/internal/archive"
	"flowgraph/internal/export"
)

func liveOf(t *testing.T, recording, collection string) *archive.Live {
	t.Helper()
	l, err := archived(t, recording).Live(t.Context(), archive.LiveOptions{Collection: collection})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func TestAnExportThatIsStoppedLeavesNothing(t *testing.T) {
	l := liveOf(t, "concurrent", "con")
	for name, before := range map[string]bool{"nothing there": false, "one to replace": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var kept []string
			if before {
				if err := os.MkdirAll(filepath.Join(dir, "con", "old"), 0o755); err != nil {
					t.Fatal(err)
				}
				kept = []string{"con"}
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			told := 0
			_, err := export.Write(ctx, l, export.Options{Dir: dir, Replace: before, Progress: func(done, total int64) {
				if told++; done > total/2 {
					stop()
				}
			}})
			if !errors.Is(err, context.Canceled) || told == 0 {
				t.Errorf("told %d times: %v", told, err)
			}
			if left := entries(t, dir); !slices.Equal(left, kept) {
				t.Errorf("left %v", left)
			}
			if before && !slices.Equal(entries(t, filepath.Join(dir, "con")), []string{"old"}) {
				t.Error("what was to be replaced is not as it was")
			}
		})
	}
}

func TestAFolderIsReplacedWholeOrRefused(t *testing.T) {
	l := liveOf(t, "upsert", "ups")
	dir := t.TempDir()
	for _, replace := range []bool{false, true} {
		if _, err := export.Write(t.Context(), l, export.Options{Dir: dir, Replace: replace}); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "ups", "dropped_since.parquet"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := export.Write(t.Context(), l, export.Options{Dir: dir}); !errors.Is(err, export.ErrExists) {
		t.Errorf("%v", err)
	}
	if _, err := export.Write(t.Context(), l, export.Options{Dir: dir, Replace: true}); err != nil {
		t.Fatal(err)
	}
	if got := entries(t, filepath.Join(dir, "ups")); !slices.Equal(got, []string{"_default.parquet"}) || !slices.Equal(entries(t, dir), []string{"ups"}) {
		t.Errorf("there are %v in %v", got, entries(t, dir))
	}
}

func TestNamesDoNotLeaveTheFolder(t *testing.T) {
	l := liveOf(t, "ddl", "ddl")
	l.Name = "../up/.."
	for i, p := range l.Partitions {
		p.Name = []string{"a/../../b", "P", "p", ""}[i%4]
	}
	dir := t.TempDir()
	inner := filepath.Join(dir, "inner")
	r, err := export.Write(t.Context(), l, export.Options{Dir: inner})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(entries(t, dir), []string{"inner"}) || !slices.Equal(entries(t, inner), []string{"%2E.%2Fup%2F.."}) {
		t.Errorf("there are %v, %v", entries(t, dir), entries(t, inner))
	}
	if got := entries(t, r.Dir); len(got) != len(l.Partitions) || !slices.Contains(got, "a%2F..%2F..%2Fb.parquet") {
		t.Errorf("files %v", got)
	}
	for _, f := range r.Files {
		if info, err := os.Stat(f.Path); err != nil || info.Size() != f.Bytes {
			t.Errorf("%s: %v, said to be %d bytes", f.Path, err, f.Bytes)
		}
	}
}

func TestAFileSaysWhatItIs(t *testing.T) {
	l := liveOf(t, "upsert", "ups")
	r, err := export.Write(t.Context(), l, export.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	f, err := file.OpenParquetFile(r.Files[0].Path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	notes := f.MetaData().KeyValueMetadata()
	for key, want := range map[string]string{"flowgraph.collection": "ups", "flowgraph.partition": "_default"} {
		if got := notes.FindValue(key); got == nil || *got != want {
			t.Errorf("%s is %v, want %s", key, got, want)
		}
	}
}
