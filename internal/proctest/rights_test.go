//go:build unix

package proctest

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The rights that commands need stand in the README: a table of commands, a
// table of the words that it uses for the bucket, and one policy as an example.
// The tests run what stands there.

// right is an operation that a Kafka ACL allows.
type right struct {
	operation string // as "Read"
	on        string // "topics" or "group"
}

// needs is a line of the table: commands, and the least that each may do.
type needs struct {
	commands []string // as "gc --delete"
	kafka    []right
	bucket   []string // words
}

// without lists every way to have one right less, and which one that is.
func (n needs) without() map[string]needs {
	all := map[string]needs{}
	for i, r := range n.kafka {
		less := n
		less.kafka = slices.Delete(slices.Clone(n.kafka), i, i+1)
		all[r.operation+" on "+r.on] = less
	}
	for i, word := range n.bucket {
		less := n
		less.bucket = slices.Delete(slices.Clone(n.bucket), i, i+1)
		all[word] = less
	}
	return all
}

// grants are what a word stands for.
type grants struct{ actions, resources []string }

// section is what the README says of rights.
func section(t *testing.T) string {
	t.Helper()
	_, text, found := strings.Cut(contents(t, filepath.Join(options.root, "README.md")), "\n## What it may do\n")
	text, _, _ = strings.Cut(text, "\n## ")
	if !found {
		t.Fatal("the README has no section of rights")
	}
	return text
}

// rows are the cells of the lines of the table whose header begins so.
func rows(t *testing.T, text, header string) [][]string {
	t.Helper()
	_, rest, found := strings.Cut(text, "\n"+header)
	if !found {
		t.Fatalf("no table begins %q", header)
	}
	var all [][]string
	for i, line := range strings.Split(rest, "\n") {
		switch {
		case i < 2: // the rest of the header, and its rule
		case !strings.HasPrefix(line, "|"):
			return all
		default:
			var cells []string
			for _, cell := range strings.Split(strings.Trim(line, "|"), "|") {
				cells = append(cells, strings.TrimSpace(cell))
			}
			all = append(all, cells)
		}
	}
	return all
}

var (
	code    = regexp.MustCompile("`([^`]+)`")
	command = regexp.MustCompile("`([^`]+)`([^,`]*)")
	allowed = regexp.MustCompile("^(`[A-Z][a-zA-Z]+`(?: and `[A-Z][a-zA-Z]+`)*) on the (topics|group)$")
)

// coded are the texts in backquotes.
func coded(text string) (all []string) {
	for _, m := range code.FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

// tableOfNeeds reads the table of commands.
func tableOfNeeds(t *testing.T, text string) (all []needs) {
	t.Helper()
	for _, cells := range rows(t, text, "| command | Kafka | bucket |") {
		var n needs
		for _, m := range command.FindAllStringSubmatch(cells[0], -1) {
			n.commands = append(n.commands, m[1]+m[2])
		}
		if cells[1] != "none" {
			for _, part := range strings.Split(cells[1], ", ") {
				m := allowed.FindStringSubmatch(part)
				if m == nil {
					t.Fatalf("%s: %q is not a right", cells[0], part)
				}
				for _, operation := range coded(m[1]) {
					n.kafka = append(n.kafka, right{operation, m[2]})
				}
			}
		}
		if cells[2] != "none" {
			n.bucket = strings.Split(cells[2], ", ")
		}
		all = append(all, n)
	}
	return all
}

// tableOfWords reads what the words for the bucket mean.
func tableOfWords(t *testing.T, text string) map[string]grants {
	t.Helper()
	all := map[string]grants{}
	for _, cells := range rows(t, text, "| bucket | actions | on |") {
		g := grants{actions: coded(cells[1])}
		for _, resource := range coded(cells[2]) {
			g.resources = append(g.resources, "arn:aws:s3:::"+resource)
		}
		all[cells[0]] = g
	}
	return all
}

// oneOrMore is a string or a list of them, as in policies.
type oneOrMore []string

func (o *oneOrMore) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*o = oneOrMore{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(o))
}

type statement struct {
	Effect   string
	Action   oneOrMore
	Resource oneOrMore
}

type policy struct {
	Version   string
	Statement []statement
}

// examplePolicy is the one that the README has, as its text.
func examplePolicy(t *testing.T, text string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, "\n```json\n")
	example, _, closed := strings.Cut(rest, "\n```\n")
	if !found || !closed {
		t.Fatal("there is no policy")
	}
	return example
}

// policyOf is a policy that allows what words stand for.
func policyOf(t *testing.T, meaning map[string]grants, words []string) policy {
	t.Helper()
	p := policy{Version: "2012-10-17"}
	for _, word := range words {
		g, known := meaning[word]
		if !known {
			t.Fatalf("nobody says what %q is", word)
		}
		p.Statement = append(p.Statement, statement{"Allow", g.actions, g.resources})
	}
	return p
}

// pairs are what a policy allows, an action on a resource each.
func (p policy) pairs() (all []string) {
	for _, s := range p.Statement {
		for _, action := range s.Action {
			for _, resource := range s.Resource {
				all = append(all, s.Effect+" "+action+" "+resource)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func TestTheExampleOfAPolicyAllowsOtherThingsThanAWorkerNeeds(t *testing.T) {
	text := section(t)
	var example policy
	if err := json.Unmarshal([]byte(examplePolicy(t, text)), &example); err != nil {
		t.Fatal(err)
	}
	for _, n := range tableOfNeeds(t, text) {
		if !strings.HasPrefix(n.commands[0], "run ") {
			continue
		}
		if want, got := policyOf(t, tableOfWords(t, text), n.bucket).pairs(), example.pairs(); !slices.Equal(want, got) {
			t.Errorf("%s: the table says\n%s\nthe policy\n%s", n.commands[0], strings.Join(want, "\n"), strings.Join(got, "\n"))
		}
	}
}
