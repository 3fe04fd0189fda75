package cli

import (
	"errors"

	"github.com/rs/zerolog"
)

// RunCommand is the worker.
type RunCommand struct {
	RunConfig
}

// Run works until stopped, or to the ends of the logs with --until-end.
func (c *RunCommand) Run(*Process, zerolog.Logger) error {
	return errors.New("this build has no worker")
}
