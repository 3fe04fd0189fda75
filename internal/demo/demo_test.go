package demo

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"flowgraph/internal/archive"
	"flowgraph/testdata/recordings"
)

func TestABucketThatLacksRowsIsAnError(t *testing.T) {
	var out bytes.Buffer
	s := &show{Config: Config{Dir: t.TempDir(), Files: recordings.Files(), Out: &out, Log: zerolog.Nop()}}
	var err error
	if s.traffic, err = assemble(s.Files, s.Dir); err != nil {
		t.Fatal(err)
	}
	err = s.onStage(t.Context(), func(ctx context.Context) error { return s.close(ctx, 0) })
	if !errors.Is(err, archive.ErrNotExact) || !strings.Contains(out.String(), "NOT EXACT") {
		t.Errorf("ended with %v, told\n%s", err, &out)
	}
}

func TestTheTrafficKeepsTheOrderInsideAPartition(t *testing.T) {
	dir := t.TempDir()
	merged, err := assemble(recordings.Files(), dir)
	if err != nil {
		t.Fatal(err)
	}
	// The reader refuses offsets that go back; here also none may be missing,
	// and the recordings must follow each other as they were made.
	next := map[string]int64{}
	var n, last int64
	for r, err := range archive.Recorded(merged.path) {
		if err != nil {
			t.Fatal(err)
		}
		if name := r.Topic + "-0"; r.Offset != next[name] {
			t.Fatalf("offset %d of %s, want %d", r.Offset, name, next[name])
		}
		next[r.Topic+"-0"]++
		if n++; r.Timestamp < last-1000 {
			t.Errorf("record %d is of %d, after one of %d", n, r.Timestamp, last)
		}
		last = max(last, r.Timestamp)
	}
	if n != merged.records || n != 797 || len(next) != 2 || merged.ends["by-dev-rootcoord-dml_0-0"] != next["by-dev-rootcoord-dml_0-0"] {
		t.Errorf("%d records of %v; said %d of %v", n, next, merged.records, merged.ends)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("left files %v", left)
	}
}
