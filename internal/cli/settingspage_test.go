package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// ConfigTable is the worker's settings as Markdown tables, one a group:
// what docs/reference/settings.md holds.
func ConfigTable() (string, error) {
	parser, err := model()
	if err != nil {
		return "", err
	}
	flags, err := workerFlags(parser.Model)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	group := ""
	for _, flag := range flags {
		if flag.Name == "help" || flag.Name == "version" {
			continue
		}
		if flag.Group.Title != group {
			group = flag.Group.Title
			fmt.Fprintf(&b, "\n**%s**\n\n| setting | default | meaning |\n|---|---|---|\n", group)
		}
		fmt.Fprintf(&b, "| `--%s` | %s | %s |\n", flag.Name, defaultText(flag), tableCell(flag.Help))
	}
	return b.String(), nil
}

// first are the settings that most people need, in the README's table.
var first = []string{
	"brokers", "topics", "group", "s3-endpoint", "s3-bucket", "s3-root", "s3-access-key", "s3-secret-key",
	"listen", "memory-budget", "flush-age", "on-bad-record", "on-gap", "schema-from", "config",
}

// FirstSettings is the README's table of settings.
func FirstSettings() (string, error) {
	parser, err := model()
	if err != nil {
		return "", err
	}
	flags := allFlags(parser.Model.Node)
	var b strings.Builder
	b.WriteString("\n| setting | default | meaning |\n|---|---|---|\n")
	for _, name := range first {
		i := slices.IndexFunc(flags, func(f *kong.Flag) bool { return f.Name == name })
		if i < 0 {
			return "", fmt.Errorf("there is no setting %s", name)
		}
		fmt.Fprintf(&b, "| `--%s` | %s | %s |\n", name, defaultText(flags[i]), tableCell(flags[i].Help))
	}
	return b.String(), nil
}

// tableCell is text that may stand in a table.
func tableCell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }

func defaultText(flag *kong.Flag) string {
	switch {
	case flag.IsBool():
		return "off"
	case flag.Default == "":
		return ""
	}
	return "`" + flag.Default + "`"
}
