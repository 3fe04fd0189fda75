package cli

import (
	"reflect"

	"github.com/alecthomas/kong"
)

// ConfigCommand is about the configuration itself.
type ConfigCommand struct {
	Show   ConfigShowCommand   `cmd:"" default:"1" help:"Print all settings of the worker as YAML with their meaning and defaults; this is what config alone does."`
	Check  ConfigCheckCommand  `cmd:"" help:"Name everything that is wrong with a configuration, and with --connect what Kafka and the bucket lack."`
	Schema ConfigSchemaCommand `cmd:"" help:"Print a JSON Schema of the file of --config, for editors."`
}

// isAboutConfig tells the commands that a wrong configuration must not keep
// from their work.
func isAboutConfig(ctx *kong.Context) bool {
	for _, path := range ctx.Path {
		if path.Command != nil && path.Command.Target.Type() == reflect.TypeFor[ConfigCommand]() {
			return true
		}
	}
	return false
}
