package cli

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Topics says what is read: names and regular expressions of topics, or an
// explicit list of partitions. The zero value selects nothing.
type Topics struct {
	names       []string
	expressions []string // as written, without slashes and anchors
	partitions  map[string][]int32
	text        string
}

const topicsSentence = "a topic is a name, a regular expression (/by-dev-.*-dml_[0-9]+/) or topic:partition"

// UnmarshalText reads topics separated by commas. A regular expression matches
// whole names; it stands between slashes or holds one of \^$*+?()[]{}|.
func (t *Topics) UnmarshalText(text []byte) error {
	out := Topics{text: strings.TrimSpace(string(text))}
	entries, err := splitTopics(out.text)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := out.add(entry); err != nil {
			return err
		}
	}
	if len(out.partitions) > 0 && len(out.names)+len(out.expressions) > 0 {
		return errors.New("topics and an explicit list of topic:partition cannot be mixed")
	}
	*t = out
	return nil
}

func (t *Topics) add(entry string) error {
	if strings.HasPrefix(entry, "/") && strings.HasSuffix(entry, "/") && len(entry) > 2 {
		return t.addExpression(entry[1 : len(entry)-1])
	}
	if strings.ContainsAny(entry, `\^$*+?()[]{}|`) {
		return t.addExpression(entry)
	}
	if name, number, ok := strings.Cut(entry, ":"); ok {
		id, err := strconv.ParseInt(number, 10, 32)
		if err != nil || id < 0 || !isTopicName(name) {
			return fmt.Errorf("%q is not topic:partition: %s", entry, topicsSentence)
		}
		return t.addPartition(name, int32(id))
	}
	if !isTopicName(entry) {
		return fmt.Errorf("%q is not the name of a topic: %s", entry, topicsSentence)
	}
	t.names = append(t.names, entry)
	return nil
}

func (t *Topics) addExpression(expr string) error {
	if _, err := regexp.Compile(anchored(expr)); err != nil {
		return fmt.Errorf("%q: %w: %s", expr, err, topicsSentence)
	}
	t.expressions = append(t.expressions, expr)
	return nil
}

func (t *Topics) addPartition(name string, id int32) error {
	if t.partitions == nil {
		t.partitions = map[string][]int32{}
	}
	if slices.Contains(t.partitions[name], id) {
		return fmt.Errorf("%s:%d stands twice", name, id)
	}
	t.partitions[name] = append(t.partitions[name], id)
	return nil
}

// splitTopics cuts at commas outside of an expression's slashes and brackets.
func splitTopics(text string) ([]string, error) {
	var entries []string
	depth, slashed, from := 0, false, 0
	end := func(to int) {
		if entry := strings.TrimSpace(text[from:to]); entry != "" {
			entries = append(entries, entry)
		}
		from = to + 1
	}
	for i, c := range text {
		switch {
		case c == '/':
			slashed = !slashed
		case slashed:
		case strings.ContainsRune("([{", c):
			depth++
		case strings.ContainsRune(")]}", c):
			depth--
		case c == ',' && depth <= 0:
			end(i)
		}
	}
	if slashed {
		return nil, fmt.Errorf("a regular expression lacks its second slash: %s", topicsSentence)
	}
	end(len(text))
	return entries, nil
}

func isTopicName(s string) bool {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
	return s != "" && s != "." && s != ".." && len(s) <= 249 && strings.Trim(s, allowed) == ""
}

// anchored makes an expression match whole names; unanchored it would also
// take the topics whose names merely contain a match.
func anchored(expr string) string { return "^(?:" + expr + ")$" }

// IsSet tells whether anything is selected.
func (t Topics) IsSet() bool { return len(t.names)+len(t.expressions)+len(t.partitions) > 0 }

// Names are the topics given by name.
func (t Topics) Names() []string { return slices.Clone(t.names) }

// Asked are the topics that are read for sure: those given by name, and those
// of the explicit list.
func (t Topics) Asked() []string {
	return append(t.Names(), slices.Sorted(maps.Keys(t.partitions))...)
}

// Partitions is the explicit list by topic, nil when topics are given.
func (t Topics) Partitions() map[string][]int32 { return maps.Clone(t.partitions) }

// Expressions are anchored regular expressions that match exactly the selected
// topics, names among them; nil for an explicit list.
func (t Topics) Expressions() []string {
	var out []string
	for _, n := range t.names {
		out = append(out, anchored(regexp.QuoteMeta(n)))
	}
	for _, e := range t.expressions {
		out = append(out, anchored(e))
	}
	return out
}

// String is the selection as it was written.
func (t Topics) String() string { return t.text }
