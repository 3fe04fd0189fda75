package completion

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// bashScript works from bash 3.2 on, without the package bash-completion. Bash
// takes --flag=value apart into three words, unless somebody has taken the = out
// of COMP_WORDBREAKS.
const bashScript = `# bash completion for %[1]s
_%[1]s_reply() {
    local line
    while IFS= read -r line; do
        COMPREPLY+=("$line")
    done < <(compgen "$@")
}

# Sets command if there is such a one.
_%[1]s_command() {
    case $1 in
    %[6]s) command=$1 ;;
    esac
}

# Sets flag if the word wants a value behind it.
_%[1]s_flag() {
    case "$command:$1" in
%[2]s    esac
}

_%[1]s() {
    local cur=${COMP_WORDS[COMP_CWORD]} command='' flag='' before='' word i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ -n $flag ]]; then
            [[ $word == = ]] || flag=''
            continue
        fi
        case $word in
        -*) _%[1]s_flag "$word" ;;
        *) _%[1]s_command "${command:+$command }$word" ;;
        esac
    done
    if [[ -n $flag && $cur == = ]]; then
        cur=''
    elif [[ -z $flag && $cur == --*=* ]]; then
        _%[1]s_flag "${cur%%%%=*}"
        before=${cur%%%%=*}=
        cur=${cur#*=}
    fi
    if [[ -n $flag ]]; then
        case "$command:$flag" in
%[3]s        esac
        return
    fi
    if [[ $cur == -* ]]; then
        case $command in
%[4]s        esac
        return
    fi
    case $command in
%[5]s    esac
}
complete -F _%[1]s %[1]s
`

func bash(root command) string {
	var paths []string
	var flags, args strings.Builder
	general := bashNames(root.flags)
	for _, c := range root.all() {
		names := general
		if c.path != "" {
			paths = append(paths, quoted(c.path))
			names = strings.TrimSpace(bashNames(c.flags) + " " + general)
		}
		fmt.Fprintf(&flags, "        %s) _%s_reply -W '%s' -- \"$cur\" ;;\n", quoted(c.path), root.Name, names)
		reply := bashReply(root.Name, wantedArgument(c))
		if len(c.subs) > 0 {
			reply = bashReply(root.Name, want{values: strings.Fields(c.names())})
		}
		if reply != "" {
			fmt.Fprintf(&args, "    %s) %s ;;\n", quoted(c.path), reply)
		}
	}
	valued, values := bashFlags(root)
	return fmt.Sprintf(bashScript, root.Name, valued, values, flags.String(), args.String(), strings.Join(paths, " | "))
}

// bashFlags are the cases of flags that take a value, and of those values that
// can be completed. Flags of the program are known before and behind a command.
func bashFlags(root command) (valued, values string) {
	replies := map[string][]string{} // what is offered -> patterns
	var patterns, order []string
	for _, c := range root.all() {
		under := quoted(c.path)
		if c.path == "" {
			under = "*"
		}
		for _, f := range c.flags {
			w := wanted(f)
			if w.nothing {
				continue
			}
			reply := bashReply(root.Name, w)
			if reply != "" && !slices.Contains(order, reply) {
				order = append(order, reply)
			}
			for _, s := range spellings(f) {
				patterns = append(patterns, under+":"+s)
				replies[reply] = append(replies[reply], under+":"+s)
			}
		}
	}
	for _, reply := range order {
		values += fmt.Sprintf("        %s)\n            %s ;;\n", strings.Join(replies[reply], " | "), reply)
	}
	return fmt.Sprintf("    %s) flag=$1 ;;\n", strings.Join(patterns, " | ")), values
}

// bashReply is the command that offers what is wanted, "" if nothing can be.
func bashReply(program string, w want) string {
	call := "_" + program + "_reply"
	switch {
	case len(w.values) > 0:
		return fmt.Sprintf(`%s -P "$before" -W '%s' -- "$cur"`, call, strings.Join(w.values, " "))
	case w.files:
		return `compopt -o filenames 2>/dev/null; ` + call + ` -P "$before" -f -- "$cur"`
	case w.folders:
		return `compopt -o filenames 2>/dev/null; ` + call + ` -P "$before" -d -- "$cur"`
	}
	return ""
}

func bashNames(flags []*kong.Flag) string {
	var out []string
	for _, f := range flags {
		out = append(out, spellings(f)...)
	}
	return strings.Join(out, " ")
}
