package export

import (
	"encoding/json"
	"flag"
	"os/exec"
	"strings"
	"testing"
)

var python = flag.String("python", "python3", "Python with the modules pyarrow and duckdb, for the tests that open files with them")

// Reading is what a Python module read from a file.
type Reading struct {
	Types map[string]string
	Rows  []map[string]any // numbers as json.Number
}

// ReadByPython opens a file with pyarrow and DuckDB; the test is skipped where
// they are not there.
func ReadByPython(t *testing.T, path string) map[string]Reading {
	t.Helper()
	if _, err := exec.LookPath(*python); err != nil {
		t.Skipf("no pyarrow and no DuckDB are asked: there is no %s (-python)", *python)
	}
	if out, err := exec.CommandContext(t.Context(), *python, "-c", "import duckdb, pyarrow.parquet").CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		t.Skipf("no pyarrow and no DuckDB are asked: %s lacks them (pip install pyarrow duckdb): %s", *python, lines[len(lines)-1])
	}
	cmd := exec.CommandContext(t.Context(), *python, "testdata/read.py", path)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	d := json.NewDecoder(strings.NewReader(string(out)))
	d.UseNumber() // integers of 64 bits stay
	var read map[string]Reading
	if err := d.Decode(&read); err != nil {
		t.Fatal(err)
	}
	if len(read) != 2 {
		t.Fatalf("%d readers", len(read))
	}
	return read
}
