package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rs/zerolog"

	"flowgraph/internal/demo"
	"flowgraph/testdata/recordings"
)

// DemoCommand shows the whole on one machine.
type DemoCommand struct {
	Dir string `help:"Folder of the demo's broker and bucket; made anew." default:"flowgraph-demo" placeholder:"DIR" group:"Demo"`
}

// Validate refuses an empty folder's name.
func (c *DemoCommand) Validate() error {
	if c.Dir == "" {
		return errors.New("--dir must not be empty")
	}
	return nil
}

// Run replays a recording, runs a worker over it and kills it once on the way.
func (c *DemoCommand) Run(p *Process, log zerolog.Logger) error {
	// Absolute, because the embedded bucket moves the working directory.
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the program that the workers run: %w", err)
	}
	return demo.Run(p.Stop, demo.Config{
		Dir: dir, Program: program, Environ: p.Environ, Files: recordings.Files(), Out: p.Stdout, Log: log,
	})
}
