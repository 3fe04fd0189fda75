// Package manpage writes the manual page of a command line from its
// definition, as roff with the macros of man(7).
package manpage

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// Page is what the definition of the command line does not say.
type Page struct {
	Version  string
	Sections []Section // behind the options, in this order
}

// Section is a part of the page.
type Section struct {
	Title string
	Text  string // paragraphs, an empty line between them
	Terms []Term // behind the text
}

// Term is a word and what it means.
type Term struct{ Name, Meaning string }

// Write is the page of section 1 for a program with commands. Flags that several commands have in common are told once.
func Write(app *kong.Application, p Page) string {
	var r roff
	r.macro("TH", strings.ToUpper(app.Name), "1", "", p.Version)
	// Names and paths are not to be broken at a hyphen.
	r.line(".nh")
	summary, more, _ := strings.Cut(app.Help, ". ")
	r.macro("SH", "NAME")
	r.line(text(app.Name) + ` \- ` + text(lower(strings.TrimSuffix(summary, "."))))
	r.macro("SH", "SYNOPSIS")
	r.macro("B", app.Name)
	r.line(`\fICOMMAND\fR [\fIOPTION\fR]...`)
	r.macro("SH", "DESCRIPTION")
	r.paragraphs(summary + ". " + more)
	shared := sharedFlags(app)
	r.macro("SH", "COMMANDS")
	for _, c := range app.Leaves(true) {
		r.command(c, shared)
	}
	r.macro("SH", "SHARED OPTIONS")
	r.paragraphs("Of the commands that name them, and, as General, of every command.")
	r.groups(append(app.Flags, shared.flags...))
	for _, s := range p.Sections {
		r.macro("SH", s.Title)
		r.paragraphs(s.Text)
		for _, t := range s.Terms {
			r.term(`\fB`+text(t.Name)+`\fR`, t.Meaning)
		}
	}
	return r.b.String()
}

// shared are the flags that are the same in more than one command.
type shared struct {
	flags []*kong.Flag
	has   map[string]bool // by key
}

// key tells flags of one name apart that mean different things.
func key(f *kong.Flag) string { return f.Name + "\x00" + f.Help + "\x00" + f.Default }

func sharedFlags(app *kong.Application) shared {
	s := shared{has: map[string]bool{}}
	seen := map[string]bool{}
	for _, c := range app.Leaves(true) {
		for _, f := range c.Flags {
			k := key(f)
			if seen[k] && !s.has[k] && !f.Hidden {
				s.has[k] = true
				s.flags = append(s.flags, f)
			}
			seen[k] = true
		}
	}
	return s
}

// command tells a command, its arguments and the flags that it alone has, and
// names the others.
func (r *roff) command(c *kong.Node, s shared) {
	head := c.Path()
	for _, a := range c.Positional {
		head += " " + strings.ToUpper(a.Name)
	}
	r.macro("SS", head)
	r.paragraphs(c.Help)
	for _, a := range c.Positional {
		r.term(`\fI`+text(strings.ToUpper(a.Name))+`\fR`, a.Help)
	}
	var others []string
	for _, f := range c.Flags {
		switch {
		case f.Hidden:
		case s.has[key(f)]:
			others = append(others, "--"+f.Name)
		default:
			r.flag(f)
		}
	}
	if len(others) > 0 {
		r.macro("PP")
		r.line("Shared options: " + text(strings.Join(others, ", ")) + ".")
	}
}

// groups tells flags, each group under its name.
func (r *roff) groups(flags []*kong.Flag) {
	var order []string
	of := map[string][]*kong.Flag{}
	for _, f := range flags {
		group := "General"
		if f.Group != nil {
			group = f.Group.Title
		}
		if of[group] == nil {
			order = append(order, group)
		}
		of[group] = append(of[group], f)
	}
	for _, group := range order {
		r.macro("SS", group)
		for _, f := range of[group] {
			r.flag(f)
		}
	}
}

// flag tells one flag with its default.
func (r *roff) flag(f *kong.Flag) {
	head := `\fB` + text("--"+f.Name) + `\fR`
	if f.Short != 0 {
		head = `\fB` + text("-"+string(f.Short)) + `\fR, ` + head
	}
	if !f.IsBool() {
		head += `=\fI` + text(cmp.Or(f.PlaceHolder, f.FormatPlaceHolder())) + `\fR`
	}
	help := f.Help
	if f.HasDefault && f.Default != "" {
		help += fmt.Sprintf(" Default: %s.", f.Default)
	}
	r.term(head, help)
}

// lower begins a sentence small, as the list of all pages wants it.
func lower(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}
