package completion

import (
	"strings"

	"github.com/alecthomas/kong"
)

// want is what follows a flag or stands as an argument.
type want struct {
	nothing bool     // the flag is a switch
	values  []string // one of these
	files   bool
	folders bool
}

// wanted tells from the model what a flag takes. What is no file, no folder
// and not one of a few words is free text.
func wanted(f *kong.Flag) want {
	return want{
		nothing: f.IsBool(), values: enum(f.Value),
		files: f.PlaceHolder == "FILE", folders: f.PlaceHolder == "DIR",
	}
}

// wantedArgument is the same for an argument, whose name tells a file.
func wantedArgument(c command) want {
	if len(c.Positional) == 0 {
		return want{nothing: true}
	}
	arg := c.Positional[0]
	return want{values: enum(arg), files: arg.Name == "file"}
}

func enum(v *kong.Value) []string {
	if v.Enum == "" {
		return nil
	}
	return v.EnumSlice()
}

// command is a command, or the program itself, with what it is called by.
type command struct {
	*kong.Node
	path  string // "" for the program, else as in "config check"
	flags []*kong.Flag
	subs  []command
}

// commands is a visible command with those below it, in the order of the help.
// A command's flags are known to those below; those of the program, which are
// known everywhere, are its own alone here.
func commands(node *kong.Node, path string, inherited ...*kong.Flag) command {
	c := command{Node: node, path: path, flags: inherited[:len(inherited):len(inherited)]}
	for _, f := range node.Flags {
		if !f.Hidden {
			c.flags = append(c.flags, f)
		}
	}
	handed := c.flags
	if path == "" {
		handed = nil
	}
	for _, sub := range node.Children {
		if !sub.Hidden {
			c.subs = append(c.subs, commands(sub, strings.TrimSpace(path+" "+sub.Name), handed...))
		}
	}
	return c
}

// all is the command and all below it.
func (c command) all() []command {
	out := []command{c}
	for _, sub := range c.subs {
		out = append(out, sub.all()...)
	}
	return out
}

// names are those of the commands directly below.
func (c command) names() string {
	var out []string
	for _, sub := range c.subs {
		out = append(out, sub.Name)
	}
	return strings.Join(out, " ")
}

// spellings are the ways to write a flag.
func spellings(f *kong.Flag) []string {
	out := []string{"--" + f.Name}
	if f.Short != 0 {
		out = append(out, "-"+string(f.Short))
	}
	return out
}

// short is the first sentence of a help text, without its full stop.
func short(help string) string {
	first, _, _ := strings.Cut(help, ". ")
	return strings.TrimSuffix(first, ".")
}
