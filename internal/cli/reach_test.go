package cli

import "github.com/alecthomas/kong"

// SecretFlags are the flags that take a secret, by command, for tests that
// have to know all there are.
func SecretFlags() (map[string][]string, error) {
	var c commands
	parser, err := newParser(&c, &Process{}, func(int) {})
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, command := range parser.Model.Leaves(false) {
		for _, f := range append(append([]*kong.Flag{}, parser.Model.Flags...), command.Flags...) {
			if isSecret(f) {
				out[command.FullPath()[len("flowgraph "):]] = append(out[command.FullPath()[len("flowgraph "):]], f.Name)
			}
		}
	}
	return out, nil
}
