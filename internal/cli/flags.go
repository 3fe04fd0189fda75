package cli

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"
)

// newValue is an empty value of a flag's type.
func newValue(flag *kong.Flag) reflect.Value {
	return reflect.New(flag.Target.Type()).Elem()
}

// isSecret tells the flags whose values are shown nowhere and may be given as
// the name of a file.
func isSecret(flag *kong.Flag) bool {
	return flag.Target.Type() == reflect.TypeFor[Secret]()
}

// valueText is a flag's value as it can be written in environment and file.
func valueText(flag *kong.Flag) (string, error) {
	v := flag.Target.Interface()
	if m, ok := v.(encoding.TextMarshaler); ok {
		text, err := m.MarshalText()
		return string(text), err
	}
	if list, ok := v.([]string); ok {
		return strings.Join(list, ","), nil
	}
	return fmt.Sprint(v), nil
}

// helpText is a flag's help with its default.
func helpText(v *kong.Value) string {
	if !v.HasDefault {
		return v.Help
	}
	return fmt.Sprintf("%s Default: %s.", v.Help, v.Default)
}
