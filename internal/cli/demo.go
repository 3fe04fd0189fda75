package cli

import (
	"errors"

	"github.com/rs/zerolog"
)

// DemoCommand shows the whole on one machine.
type DemoCommand struct {
	Dir string `help:"Folder of the demo's broker and bucket; made anew." default:"flowgraph-demo" placeholder:"DIR" group:"Demo"`
}

// Run replays a recording, runs a worker over it and kills it once on the way.
func (c *DemoCommand) Run(*Process, zerolog.Logger) error {
	return errors.New("this build has no worker")
}
