package completion

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// zshScript serves as a file _flowgraph in a folder of fpath, where its body is
// the function, and to be sourced.
const zshScript = `#compdef %[1]s
_%[1]s() {
    local curcontext=$curcontext context state state_descr line
    typeset -A opt_args
    local -a general commands
    general=(
%[2]s    )
    _arguments -C $general '1: :->command' '*:: :->rest'
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
if [[ $funcstack[1] == _%[1]s ]]; then
    _%[1]s "$@"
else
    compdef _%[1]s %[1]s
fi
`

func zsh(app *kong.Application) string {
	var general, names, rest strings.Builder
	for _, f := range visible(app.Node) {
		for _, spec := range zshFlag(f) {
			fmt.Fprintf(&general, "        %s\n", spec)
		}
	}
	for _, c := range commands(app) {
		fmt.Fprintf(&names, "            %s\n", quoted(c.Name+":"+short(c.Help)))
		fmt.Fprintf(&rest, "        %s)\n            _arguments $general", c.Name)
		for _, f := range visible(c) {
			for _, spec := range zshFlag(f) {
				fmt.Fprintf(&rest, " \\\n                %s", spec)
			}
		}
		if w := wantedArgument(c); !w.nothing {
			fmt.Fprintf(&rest, " \\\n                '1:%s:%s'", c.Positional[0].Name, zshAction(w))
		}
		rest.WriteString("\n            ;;\n")
	}
	return fmt.Sprintf(zshScript, app.Name, general.String(), names.String(), rest.String())
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
			spec += ":" + zshText(placeholder(f)) + ":" + zshAction(w)
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
