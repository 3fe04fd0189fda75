package cli

import (
	"io"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// printConfig writes the settings of the selected command with the values that
// are in force, as YAML that --config takes; secrets are hidden.
func printConfig(w io.Writer, ctx *kong.Context) error {
	doc := yaml.Node{Kind: yaml.MappingNode}
	for _, flag := range ctx.Flags() {
		if !isSetting(flag) {
			continue
		}
		text := valueText(flag)
		value := yaml.Node{Kind: yaml.ScalarNode, Value: text}
		if text == "" {
			value.Style = yaml.DoubleQuotedStyle
		}
		doc.Content = append(doc.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: flag.Name}, &value)
	}
	out, err := yaml.Marshal(&doc)
	if err != nil {
		return err
	}
	_, err = w.Write(out)
	return err
}
