package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"flowgraph/internal/reread"
)

// fileValue is one value of the configuration file.
type fileValue struct{ text, place string }

// readConfigFile reads a flat YAML mapping of settings. Lists are joined by
// commas. It returns all that is right and all that is wrong; errors name the
// file, the line and, for an unknown key, the nearest known one, and never
// repeat a value.
func readConfigFile(path string, known []string) (map[string]fileValue, []error) {
	root, err := readMapping(path)
	if err != nil {
		return nil, []error{err}
	}
	values := map[string]fileValue{}
	var errs []error
	for i := 0; i < len(root.Content); i += 2 {
		key, node := root.Content[i], root.Content[i+1]
		place := fmt.Sprintf("%s line %d", path, key.Line)
		text, err := flatten(node)
		switch _, twice := values[key.Value]; {
		case !slices.Contains(known, key.Value):
			errs = append(errs, fmt.Errorf("%s: unknown key %q%s", place, key.Value, suggestion(key.Value, known)))
		case twice:
			errs = append(errs, fmt.Errorf("%s: key %q stands twice", place, key.Value))
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %q %w", place, key.Value, err))
		default:
			values[key.Value] = fileValue{text, place}
		}
	}
	return values, errs
}

// readMapping returns the mapping that a file of one YAML document is; it has
// no content where the file has none.
func readMapping(path string) (*yaml.Node, error) {
	text, err := reread.File(path)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	var doc yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&doc); err != nil {
		if err == io.EOF {
			return &yaml.Node{}, nil
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := d.Decode(new(yaml.Node)); err != io.EOF {
		return nil, fmt.Errorf("%s: more than one YAML document", path)
	}
	root := doc.Content[0]
	if isNull := root.Kind == yaml.ScalarNode && root.Tag == "!!null"; !isNull && root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s: not a mapping of settings, as in \"group: flowgraph\"", path)
	}
	return root, nil
}

func flatten(node *yaml.Node) (string, error) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch {
	case node.Kind == yaml.ScalarNode && node.Tag == "!!null":
		return "", errNoValue
	case node.Kind == yaml.ScalarNode:
		return node.Value, nil
	case node.Kind == yaml.SequenceNode:
		var parts []string
		for _, item := range node.Content {
			if item.Kind != yaml.ScalarNode {
				return "", errors.New("holds a list of something else than values")
			}
			parts = append(parts, item.Value)
		}
		return strings.Join(parts, ","), nil
	}
	return "", errors.New("is a value or a list of values, not a mapping")
}
