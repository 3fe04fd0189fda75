package cli

import (
	"errors"
	"slices"

	"github.com/alecthomas/kong"
)

// workerFlags are those of run, then those of every command.
func workerFlags(app *kong.Application) ([]*kong.Flag, error) {
	for _, node := range app.Children {
		if node.Name == "run" {
			return slices.Concat(node.Flags, app.Flags), nil
		}
	}
	return nil, errors.New("there is no command run")
}
