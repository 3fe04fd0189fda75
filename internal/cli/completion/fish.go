package completion

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

func fish(root command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# fish completion for %[1]s\ncomplete -c %[1]s -f\n", root.Name)
	for _, f := range root.flags {
		fishFlag(&b, root.Name, "", f)
	}
	for _, c := range root.all() {
		for _, sub := range c.subs {
			fmt.Fprintf(&b, "complete -c %s%s -a %s -d %s\n", root.Name, fishUnder(c, true), sub.Name, fishText(short(sub.Help)))
		}
		if c.path == "" {
			continue
		}
		for _, f := range c.flags {
			fishFlag(&b, root.Name, fishUnder(c, false), f)
		}
		if w := wantedArgument(c); w.files || len(w.values) > 0 {
			fmt.Fprintf(&b, "complete -c %s%s%s\n", root.Name, fishUnder(c, false), fishWant(w))
		}
	}
	return b.String()
}

// fishUnder is the condition that a command is on the line, and, where its own
// commands are to be offered, none of those.
func fishUnder(c command, alone bool) string {
	if c.path == "" {
		return " -n __fish_use_subcommand"
	}
	var all []string
	for _, name := range strings.Fields(c.path) {
		all = append(all, "__fish_seen_subcommand_from "+name)
	}
	if alone {
		all = append(all, "not __fish_seen_subcommand_from "+c.names())
	}
	return " -n '" + strings.Join(all, "; and ") + "'"
}

func fishFlag(b *strings.Builder, program, under string, f *kong.Flag) {
	fmt.Fprintf(b, "complete -c %s%s -l %s", program, under, f.Name)
	if f.Short != 0 {
		fmt.Fprintf(b, " -s %c", f.Short)
	}
	w := wanted(f)
	switch {
	case w.nothing:
	case w.files: // -f of the program forbids them elsewhere
		b.WriteString(" -r")
	default:
		b.WriteString(" -x")
	}
	fmt.Fprintf(b, "%s -d %s\n", fishWant(w), fishText(short(f.Help)))
}

// fishWant are the options that offer what is wanted.
func fishWant(w want) string {
	switch {
	case len(w.values) > 0:
		return " -a " + fishText(strings.Join(w.values, " "))
	case w.files:
		return " -F"
	case w.folders:
		return " -a '(__fish_complete_directories)'"
	}
	return ""
}

func fishText(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
