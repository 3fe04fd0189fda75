package completion

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// zshScript serves as a file _flowgraph in a folder of fpath, where its body is
// the function, and to be sourced. The functions of commands see general: in zsh
// a variable is known to what its function calls.
const zshScript = `#compdef %[1]s
%[2]s_%[1]s() {
    local -a general
    general=(
%[3]s    )
    _%[1]s_commands
}
if [[ $funcstack[1] == _%[1]s ]]; then
    _%[1]s "$@"
else
    compdef _%[1]s %[1]s
fi
`

// zshFunction completes a command that has others below it.
const zshFunction = `%[1]s() {
    local curcontext=$curcontext context state state_descr line
    typeset -A opt_args
    local -a commands
    _arguments -C $general%[2]s '1: :->command' '*:: :->rest'
    case $state in
    command)
        commands=(
%[3]s        )
        _describe -t commands command commands
        ;;
    rest)
        case $words[1] in
%[4]s        esac
        ;;
    esac
}
`

func zsh(root command) string {
	var functions, general strings.Builder
	for _, c := range root.all() {
		if len(c.subs) > 0 {
			functions.WriteString(zshCommands(root, c))
		}
	}
	for _, f := range root.flags {
		for _, spec := range zshFlag(f) {
			fmt.Fprintf(&general, "        %s\n", spec)
		}
	}
	return fmt.Sprintf(zshScript, root.Name, functions.String(), general.String())
}

// zshCommands is the function of a command with others below it.
func zshCommands(root, c command) string {
	var names, rest strings.Builder
	for _, sub := range c.subs {
		fmt.Fprintf(&names, "            %s\n", quoted(sub.Name+":"+short(sub.Help)))
		fmt.Fprintf(&rest, "        %s)\n            ", sub.Name)
		if len(sub.subs) > 0 {
			rest.WriteString(zshName(root, sub))
		} else {
			rest.WriteString("_arguments $general" + zshFlags(sub))
			if w := wantedArgument(sub); !w.nothing {
				fmt.Fprintf(&rest, " \\\n                '1:%s:%s'", sub.Positional[0].Name, zshAction(w))
			}
		}
		rest.WriteString("\n            ;;\n")
	}
	own := ""
	if c.path != "" { // those of the program are in general
		own = zshFlags(c)
	}
	return fmt.Sprintf(zshFunction, zshName(root, c), own, names.String(), rest.String())
}

func zshName(root, c command) string {
	return strings.ReplaceAll(strings.TrimSpace("_"+root.Name+"_commands "+c.path), " ", "_")
}

func zshFlags(c command) string {
	var b strings.Builder
	for _, f := range c.flags {
		for _, spec := range zshFlag(f) {
			b.WriteString(" \\\n                " + spec)
		}
	}
	return b.String()
}

// zshFlag are the specifications of a flag, one a spelling.
func zshFlag(f *kong.Flag) (specs []string) {
	w, ways := wanted(f), spellings(f)
	for _, s := range ways {
		spec := s
		if len(ways) > 1 { // given one way it is not offered the other
			spec = "(" + strings.Join(ways, " ") + ")" + s
		}
		if !w.nothing && strings.HasPrefix(s, "--") {
			spec += "="
		}
		spec += "[" + zshText(short(f.Help)) + "]"
		if !w.nothing {
			spec += ":" + zshText(cmp.Or(f.PlaceHolder, f.FormatPlaceHolder())) + ":" + zshAction(w)
		}
		specs = append(specs, quoted(spec))
	}
	return specs
}

func zshAction(w want) string {
	switch {
	case len(w.values) > 0:
		return "(" + strings.Join(w.values, " ") + ")"
	case w.files:
		return "_files"
	case w.folders:
		return "_files -/"
	}
	return ""
}

// zshText keeps what has a meaning in a specification.
func zshText(s string) string {
	return strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `:`, `\:`).Replace(s)
}

// quoted is a word in single quotes.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
