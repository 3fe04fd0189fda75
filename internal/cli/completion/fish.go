package completion

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

func fish(app *kong.Application) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# fish completion for %[1]s\ncomplete -c %[1]s -f\n", app.Name)
	for _, f := range visible(app.Node) {
		fishFlag(&b, app.Name, "", f)
	}
	for _, c := range commands(app) {
		fmt.Fprintf(&b, "complete -c %s -n __fish_use_subcommand -a %s -d %s\n", app.Name, c.Name, fishText(short(c.Help)))
		under := " -n '__fish_seen_subcommand_from " + c.Name + "'"
		for _, f := range visible(c) {
			fishFlag(&b, app.Name, under, f)
		}
		if w := wantedArgument(c); w.files || len(w.values) > 0 {
			fmt.Fprintf(&b, "complete -c %s%s%s\n", app.Name, under, fishWant(w))
		}
	}
	return b.String()
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
