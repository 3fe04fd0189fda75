//go:build linux

package scale

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// options of the test binary; 0 is the size of the test's small or full form.
var options struct {
	full       bool
	partitions int
	span       time.Duration
	messages   int
	program    string // the worker that is measured; built if none is given
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.BoolVar(&options.full, "full", false, "the sizes of docs/sizing.md")
	flag.IntVar(&options.partitions, "partitions", 0, "of the topic")
	flag.DurationVar(&options.span, "for", 0, "how long an idle worker is watched")
	flag.IntVar(&options.messages, "messages", 0, "inserts of 1,000 rows of 559 bytes")
	flag.StringVar(&options.program, "program", "", "a flowgraph to measure instead of this one")
	flag.Parse()
	if options.program != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "flowgraph-scale-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	options.program = filepath.Join(dir, "flowgraph")
	if out, err := exec.Command("go", "build", "-o", options.program, "flowgraph").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the worker: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// size is the option if it is given, else that of the form.
func size[T int | time.Duration](given, small, full T) T {
	switch {
	case given != 0:
		return given
	case options.full:
		return full
	}
	return small
}
