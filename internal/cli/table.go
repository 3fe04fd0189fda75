package cli

import (
	"fmt"
	"io"
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
	var run *kong.Node
	for _, node := range parser.Model.Children {
		if node.Name == "run" {
			run = node
		}
	}
	if run == nil {
		return "", fmt.Errorf("there is no command run")
	}
	var b strings.Builder
	group := ""
	for _, flag := range append(run.Flags, parser.Model.Flags...) {
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

func defaultText(flag *kong.Flag) string {
	switch {
	case flag.IsBool():
		return "off"
	case flag.Default == "":
		return ""
	}
	return "`" + flag.Default + "`"
}
