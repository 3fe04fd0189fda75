package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// ConfigShowCommand prints the configuration as it is when nobody changes it.
type ConfigShowCommand struct{}

// Run prints a file that --config takes.
func (ConfigShowCommand) Run(p *Process, app *kong.Application) error {
	flags, err := workerFlags(app)
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(showHead)
	group := ""
	for _, flag := range flags {
		if !isSetting(flag) {
			continue
		}
		if flag.Group.Title != group {
			group = flag.Group.Title
			fmt.Fprintf(&b, "\n# %s %s\n", group, strings.Repeat("-", showWidth-len(group)-3))
		}
		if err := showSetting(&b, flag); err != nil {
			return fmt.Errorf("--%s: %w", flag.Name, err)
		}
	}
	b.WriteString(showFoot)
	_, err = io.WriteString(p.Stdout, b.String())
	return err
}

// showWidth is where a comment's line ends.
const showWidth = 100

const (
	showHead = `# yaml-language-server: $schema=flowgraph.schema.json
#
# Settings of a flowgraph worker with their defaults, for --config FILE. Flags and the environment
# go before this file. What stands behind #name: has no default. Sizes and times have units.
# "flowgraph config check FILE" says what is wrong; "flowgraph config schema" prints the schema.
`
	showFoot = `
# The file may also hold settings of other commands: "flowgraph COMMAND --help" has them.
`
)

// showSetting writes what a setting means and its default: active, so that
// the file says what is in force, or in a comment where there is none.
func showSetting(b *strings.Builder, flag *kong.Flag) error {
	b.WriteString("\n")
	comment(b, flag.Help)
	secret := isSecret(flag)
	if secret {
		comment(b, fmt.Sprintf("A secret; in a file of its own with %s_FILE=FILE in the environment.", envName(flag.Name)))
	}
	if secret || !flag.HasDefault && !flag.IsBool() {
		fmt.Fprintf(b, "#%s: %s\n", flag.Name, flag.FormatPlaceHolder())
		return nil
	}
	line, err := yaml.Marshal(map[string]yaml.Node{flag.Name: defaultNode(flag)})
	b.Write(line)
	return err
}

// defaultNode is a setting's default as it stands in a file.
func defaultNode(flag *kong.Flag) yaml.Node {
	n := yaml.Node{Kind: yaml.ScalarNode, Value: flag.Default}
	if flag.IsBool() && n.Value == "" {
		n.Value = "false"
	}
	return n
}

// comment writes a text in lines of words.
func comment(b *strings.Builder, text string) {
	line := "#"
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > showWidth {
			b.WriteString(line + "\n")
			line = "#"
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
}
