package cli

import (
	"io"

	"github.com/alecthomas/kong"

	"flowgraph/internal/cli/completion"
)

// CompletionCommand prints what a shell needs to complete our command line.
type CompletionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"One of ${enum}."`
}

// Run prints it. The script knows all commands and flags and starts nothing.
func (c *CompletionCommand) Run(p *Process, app *kong.Application) error {
	script, err := completion.Script(c.Shell, app)
	if err != nil {
		return err
	}
	_, err = io.WriteString(p.Stdout, script)
	return err
}
