package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// ConfigTable is the worker's settings as Markdown tables, one a group, made
// from the same flags as the help. The README holds it.
func ConfigTable() (string, error) {
	p := &Process{Stdout: io.Discard, Stderr: io.Discard}
	parser, err := newParser(new(commands), p, func(int) {})
	if err != nil {
		return "", err
	}
	flags, err := workerFlags(parser.Model)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	group := ""
	for _, flag := range flags {
		if flag.Name == "help" || flag.Name == "version" {
			continue
		}
		if flag.Group.Title != group {
			group = flag.Group.Title
			fmt.Fprintf(&b, "\n**%s**\n\n| setting | default | meaning |\n|---|---|---|\n", group)
		}
		fmt.Fprintf(&b, "| `--%s` | %s | %s |\n", flag.Name, defaultText(flag), strings.ReplaceAll(flag.Help, "|", "\\|"))
	}
	return b.String(), nil
}

// workerFlags are those of run, then those of every command.
func workerFlags(app *kong.Application) ([]*kong.Flag, error) {
	for _, node := range app.Children {
		if node.Name == "run" {
			return slices.Concat(node.Flags, app.Flags), nil
		}
	}
	return nil, errors.New("there is no command run")
}

func defaultText(flag *kong.Flag) string {
	switch {
	case flag.IsBool():
		return "off"
	case flag.Default == "":
		return ""
	}
	return "`" + flag.Default + "`"
}
