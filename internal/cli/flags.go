package cli

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"
)

// isSecret tells the flags whose values are shown nowhere and may be given as
// the name of a file.
func isSecret(flag *kong.Flag) bool {
	return flag.Target.Type() == reflect.TypeFor[Secret]()
}

// valueText is a flag's value as it can be written in environment and file.
func valueText(flag *kong.Flag) string {
	v := flag.Target.Interface()
	if list, ok := v.([]string); ok {
		return strings.Join(list, ",")
	}
	return fmt.Sprint(v)
}

// helpText is a flag's help with its default.
func helpText(v *kong.Value) string {
	if !v.HasDefault {
		return v.Help
	}
	return fmt.Sprintf("%s Default: %s.", v.Help, v.Default)
}
