// Package completion writes scripts by which a shell completes a command line:
// names of commands and flags, the values that a flag allows, files where one
// is asked for. A script holds all of that as text and never starts the
// program, so a TAB waits for nothing and no setting or secret is read for it.
package completion

import (
	"fmt"

	"github.com/alecthomas/kong"
)

// Script is the script for a shell, bash, zsh or fish, of the commands that
// app has.
func Script(shell string, app *kong.Application) (string, error) {
	root := commands(app.Node, "")
	switch shell {
	case "bash":
		return bash(root), nil
	case "zsh":
		return zsh(root), nil
	case "fish":
		return fish(root), nil
	}
	return "", fmt.Errorf("there is no completion for the shell %q: it can be bash, zsh or fish", shell)
}
