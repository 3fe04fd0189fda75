package export_test

import (
	"path/filepath"
	"testing"

	"flowgraph/internal/archive"
	"flowgraph/internal/testlog"
)

var recordings = []string{"all_types", "varchar_pk", "ddl", "upsert", "concurrent"}

var archives testlog.Archives

func path(recording, file string) string {
	return filepath.Join("../../testdata/recordings", recording, file)
}

// archived is the archive of a recording that a real worker has made.
func archived(t *testing.T, name string) *archive.Archive {
	t.Helper()
	a, err := archive.Open(t.Context(), archives.Of(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return a
}
