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
func wantedArgument(node *kong.Node) want {
	if len(node.Positional) == 0 {
		return want{nothing: true}
	}
	arg := node.Positional[0]
	return want{values: enum(arg), files: arg.Name == "file"}
}

func enum(v *kong.Value) []string {
	if v.Enum == "" {
		return nil
	}
	return v.EnumSlice()
}

// commands are the visible commands in the order of the help.
func commands(app *kong.Application) (out []*kong.Node) {
	for _, node := range app.Children {
		if !node.Hidden {
			out = append(out, node)
		}
	}
	return out
}

// visible are a command's own flags; those of the program belong to each.
func visible(node *kong.Node) (out []*kong.Flag) {
	for _, f := range node.Flags {
		if !f.Hidden {
			out = append(out, f)
		}
	}
	return out
}

// spellings are the ways to write a flag.
func spellings(f *kong.Flag) []string {
	out := []string{"--" + f.Name}
	if f.Short != 0 {
		out = append(out, "-"+string(f.Short))
	}
	return out
}

// placeholder is the word for a flag's value. For a list the help would add
// another ",...".
func placeholder(f *kong.Flag) string {
	if f.PlaceHolder != "" {
		return f.PlaceHolder
	}
	return f.FormatPlaceHolder()
}

// short is the first sentence of a help text, without its full stop.
func short(help string) string {
	first, _, _ := strings.Cut(help, ". ")
	return strings.TrimSuffix(first, ".")
}
