//go:build unix

package proctest

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/rs/zerolog/log"
)

// options of the test binary.
var options struct {
	stack  string
	kills  int
	spells int
	seed   uint64
	race   bool
	dir    string // of this run
	root   string // of the module
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.StringVar(&options.stack, "stack", "embedded", "what the workers work on: embedded or real")
	flag.IntVar(&options.kills, "kills", 25, "how often the worker is killed; other tests are repeated in proportion")
	flag.IntVar(&options.spells, "spells", 19, "of a bad network that a worker lives through; from 50 on it is killed in some of them, and the store stays away for 360 sessions")
	flag.Uint64Var(&options.seed, "seed", uint64(time.Now().UnixNano()), "of the traffic and of the moments of the kills")
	flag.BoolVar(&options.race, "race-worker", false, "build the worker with the race detector")
	flag.Parse()
	log.Logger = zerolog.Nop() // the proxy's toxics trace their doings there
	dir, err := os.MkdirTemp("", "flowgraph-proctest-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	options.dir = dir
	// Absolute, because the embedded store moves the working directory.
	if options.root, err = filepath.Abs("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	args := []string{"build", "-o", binary()}
	if options.race {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "flowgraph")...).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the worker: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// rounds is how often a test repeats what takes longer than a kill.
func rounds() int { return 1 + options.kills/50 }

func binary() string { return filepath.Join(options.dir, "flowgraph") }
