package cli

import (
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// SecretFlags are the flags that take a secret, by command, for tests that
// have to know all there are.
func SecretFlags() (map[string][]string, error) {
	parser, err := model()
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, command := range parser.Model.Leaves(false) {
		for _, f := range append(append([]*kong.Flag{}, parser.Model.Flags...), command.Flags...) {
			if name := commandName(command); isSecret(f) {
				out[name] = append(out[name], f.Name)
			}
		}
	}
	return out, nil
}

// ParseLine parses the words behind the program's name, as Main does, and runs
// nothing.
func ParseLine(args, environ []string) error {
	answered := false
	parser, err := newParser(newSettings(environ), new(commands), &Process{Stdout: io.Discard, Stderr: io.Discard}, func(int) { answered = true })
	if err != nil {
		return err
	}
	if _, err = parser.Parse(args); answered {
		return nil
	}
	return err
}

// Flags are the names of all flags that a command takes, with their dashes;
// nil: there is no such command. "" stands for any command.
func Flags(command string) ([]string, error) {
	parser, err := model()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, n := range parser.Model.Leaves(false) {
		if command != "" && commandName(n) != command && !strings.HasPrefix(commandName(n), command+" ") {
			continue
		}
		for _, f := range append(slices.Clone(n.Flags), parser.Model.Flags...) {
			names = append(names, "--"+f.Name)
		}
	}
	return names, nil
}
