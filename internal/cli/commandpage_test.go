package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// model is the command line as it is defined.
func model() (*kong.Kong, error) {
	return newParser(newSettings(nil), new(commands), &Process{Stdout: io.Discard, Stderr: io.Discard}, func(int) {})
}

// CommandPage is docs/reference/commands.md: every command with its arguments
// and flags. What a flag of the worker means is told once, in settings.md.
func CommandPage() (string, error) {
	parser, err := model()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("# Commands\n\n<!-- made from the command line's definition by go test ./internal/cli -update -run Readme -->\n\n" +
		"`flowgraph COMMAND --help` says the same. Every flag may also stand in the environment or in a file, see [settings](settings.md).\n\n" +
		"| command | what it does |\n|---|---|\n")
	leaves := slices.DeleteFunc(parser.Model.Leaves(true), func(n *kong.Node) bool { return n.Hidden })
	for _, n := range leaves {
		name := commandName(n)
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", name, strings.ReplaceAll(name, " ", "-"), tableCell(n.Help))
	}
	worker, err := workerFlags(parser.Model)
	if err != nil {
		return "", err
	}
	for _, n := range leaves {
		writeCommand(&b, n, worker)
	}
	writeExitCodes(&b)
	return b.String(), nil
}

func commandName(n *kong.Node) string {
	return strings.TrimPrefix(n.Path(), "flowgraph ")
}

func writeCommand(b *strings.Builder, n *kong.Node, worker []*kong.Flag) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n    %s\n", commandName(n), n.Help, usage(n))
	if len(n.Positional) > 0 {
		b.WriteString("\n| argument | meaning |\n|---|---|\n")
		for _, p := range n.Positional {
			fmt.Fprintf(b, "| `%s` | %s |\n", strings.ToUpper(p.Name), tableCell(p.Help))
		}
	}
	if n.Name == "run" {
		b.WriteString("\nIts flags are the [settings](settings.md).\n")
		return
	}
	var own []*kong.Flag
	var shared []string
	for _, f := range n.Flags {
		switch {
		case f.Hidden || f.Name == "help":
		case slices.ContainsFunc(worker, func(w *kong.Flag) bool { return w.Name == f.Name && w.Help == f.Help && w.Default == f.Default }):
			shared = append(shared, "`--"+f.Name+"`")
		default:
			own = append(own, f)
		}
	}
	if len(own) > 0 {
		b.WriteString("\n| flag | default | meaning |\n|---|---|---|\n")
		for _, f := range own {
			fmt.Fprintf(b, "| `--%s` | %s | %s |\n", f.Name, defaultText(f), tableCell(f.Help))
		}
	}
	if len(shared) > 0 {
		fmt.Fprintf(b, "\nAs the worker: %s; see [settings](settings.md).\n", strings.Join(shared, ", "))
	}
}

func usage(n *kong.Node) string {
	words := []string{n.FullPath()}
	for _, p := range n.Positional {
		name := strings.ToUpper(p.Name)
		if !p.Required {
			name = "[" + name + "]"
		}
		words = append(words, name)
	}
	return strings.Join(append(words, "[flags]"), " ")
}

func writeExitCodes(b *strings.Builder) {
	b.WriteString("\n## Exit codes\n\n| code | meaning |\n|---|---|\n")
	for _, c := range exitCodes() {
		fmt.Fprintf(b, "| %s | %s |\n", c.Name, c.Meaning)
	}
}
