package cli

import (
	"encoding/json"
	"reflect"

	"github.com/alecthomas/kong"
)

// ConfigSchemaCommand describes the file of --config to programs.
type ConfigSchemaCommand struct{}

// Run prints a JSON Schema of all settings that the file may hold, those of
// other commands than the worker too.
func (ConfigSchemaCommand) Run(p *Process, app *kong.Application) error {
	root := schema{
		Dialect: "https://json-schema.org/draft/2020-12/schema", Title: "flowgraph",
		Description: "Settings of flowgraph, for --config FILE.",
		Type:        []string{"object", "null"}, Properties: map[string]schema{}, Closed: new(bool),
	}
	for _, flag := range allFlags(app.Node) {
		if isSetting(flag) {
			root.Properties[flag.Name] = settingSchema(flag)
		}
	}
	e := json.NewEncoder(p.Stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(root)
}

// schema is what is used of a JSON Schema (draft 2020-12).
type schema struct {
	Dialect     string            `json:"$schema,omitempty"`
	Title       string            `json:"title,omitempty"`
	Description string            `json:"description,omitempty"`
	Type        any               `json:"type,omitempty"` // a name, or several
	Enum        []string          `json:"enum,omitempty"`
	Const       any               `json:"const,omitempty"`
	Pattern     string            `json:"pattern,omitempty"`
	Items       *schema           `json:"items,omitempty"`
	AnyOf       []schema          `json:"anyOf,omitempty"`
	Not         *schema           `json:"not,omitempty"`
	Default     any               `json:"default,omitempty"`
	Secret      bool              `json:"writeOnly,omitempty"`
	Properties  map[string]schema `json:"properties,omitempty"`
	Closed      *bool             `json:"additionalProperties,omitempty"` // false: nothing else
}

// Texts that UnmarshalText of Size, Duration and Address takes.
const (
	sizePattern     = `^\s*(0|[0-9]+(\.[0-9]*)?\s*([kKMGT][iI]?)?[bB])\s*$`
	durationPattern = `^\s*(0|[0-9]+d|([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+)\s*$`
	addressPattern  = `^\s*(\S*:[0-9]{1,5})?\s*$`
)

// settingSchema describes a setting's values as YAML has them.
func settingSchema(flag *kong.Flag) schema {
	s := typeSchema(flag)
	s.Description = flag.Help
	switch n := defaultNode(flag); {
	case n.Value == "":
	case s.Type == "boolean", s.Type == "integer", s.Type == "number":
		s.Default = json.RawMessage(n.Value)
	default:
		s.Default = n.Value
	}
	return s
}

func typeSchema(flag *kong.Flag) schema {
	text := schema{Type: []string{"string", "number"}} // YAML takes a name of digits for a number
	switch t := flag.Target.Type(); {
	case flag.Enum != "":
		return schema{Enum: flag.EnumSlice()}
	case t == reflect.TypeFor[Secret]():
		text.Secret, text.Not = true, &schema{Const: hidden}
		return text
	case t == reflect.TypeFor[Size]():
		return orZero(schema{Type: "string", Pattern: sizePattern})
	case t == reflect.TypeFor[Duration]():
		return orZero(schema{Type: "string", Pattern: durationPattern})
	case t == reflect.TypeFor[Address]():
		return schema{Type: "string", Pattern: addressPattern}
	case t == reflect.TypeFor[Brokers](), t == reflect.TypeFor[Topics](), t == reflect.TypeFor[Extensions](), t == reflect.TypeFor[[]string]():
		return schema{AnyOf: []schema{text, {Type: "array", Items: &text}}}
	case flag.IsBool():
		return schema{Type: "boolean"}
	}
	return kindSchema(flag.Target.Type(), text)
}

// orZero lets YAML's number 0 stand without a unit.
func orZero(s schema) schema { return schema{AnyOf: []schema{s, {Type: "integer", Const: 0}}} }

func kindSchema(t reflect.Type, text schema) schema {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int32, reflect.Int64:
		return schema{Type: "integer"}
	case reflect.Float64:
		return schema{Type: "number"}
	}
	return text
}
