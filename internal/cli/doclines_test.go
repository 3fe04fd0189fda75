package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"flowgraph/internal/cli"
)

// docPages are the pages that show command lines.
func docPages(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	deeper, err := filepath.Glob("../../docs/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	deployed, err := filepath.Glob("../../deploy/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, name := range append(slices.Concat(names, deeper, deployed), readme) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		pages[name] = string(text)
	}
	return pages
}

// set is what the environment gives in the pages' examples.
var set = []string{
	"FLOWGRAPH_BROKERS=kafka:9092", "FLOWGRAPH_TOPICS=/t/", "FLOWGRAPH_S3_ENDPOINT=http://s3:9000",
	"FLOWGRAPH_S3_ACCESS_KEY=a", "FLOWGRAPH_S3_SECRET_KEY=b",
}

// A command line that is shown must be one that the program takes: people copy
// it.
func TestACommandLineThatIsShownIsRefused(t *testing.T) {
	lines := 0
	for name, text := range docPages(t) {
		if strings.HasSuffix(name, "reference/commands.md") {
			continue // its lines are forms
		}
		for _, line := range commandLines(text) {
			lines++
			environ := set
			if strings.Contains(line, "--kafka-sasl") {
				environ = append(slices.Clone(set), "FLOWGRAPH_KAFKA_PASSWORD=c") // elsewhere it is refused
			}
			if err := cli.ParseLine(words(line), environ); err != nil {
				t.Errorf("%s: flowgraph %s: %v", name, line, err)
			}
		}
	}
	if lines < 20 {
		t.Errorf("only %d command lines were found", lines)
	}
}

var (
	block    = regexp.MustCompile("(?ms)^```.*?^```")
	inText   = regexp.MustCompile("`([^`\n]+)`")
	program  = regexp.MustCompile(`(?:^|[|;(]\s*|\$ )(?:\./flowgraph|flowgraph|go run \.)\s+([a-z-].*)$`)
	restWord = regexp.MustCompile(`\s(?:[|>&;#]|2>).*$`)
)

// commandLines are the command lines in blocks, without the program's name: fenced
// ones behind a prompt, indented ones from their beginning.
func commandLines(text string) (all []string) {
	text = strings.ReplaceAll(text, "\\\n", " ")
	fenced := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
			continue
		}
		if fenced && !strings.HasPrefix(line, "$ ") || !fenced && !strings.HasPrefix(line, "    ") {
			continue
		}
		line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
		if m := program.FindStringSubmatch(line); m != nil && !strings.HasPrefix(m[1], "/") {
			all = append(all, strings.TrimSpace(restWord.ReplaceAllString(m[1], "")))
		}
	}
	return all
}

// words splits as a shell does, as far as the pages go; "..." stands for more
// of the same and is left out.
func words(line string) (out []string) {
	var word strings.Builder
	quote, any := rune(0), false
	flush := func() {
		if any && word.String() != "..." {
			out = append(out, word.String())
		}
		word.Reset()
		any = false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, any = r, true
		case quote == 0 && r == ' ':
			flush()
		default:
			word.WriteRune(r)
			any = true
		}
	}
	flush()
	return out
}

// A variable that means nothing is refused by the program, so the pages must
// not have one.
func TestAVariableThatIsNamedIsUnknown(t *testing.T) {
	flags, err := cli.Flags("")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range docPages(t) {
		for _, v := range regexp.MustCompile(`FLOWGRAPH_[A-Z0-9_]+`).FindAllString(text, -1) {
			flag := "--" + strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(v, "FLOWGRAPH_"), "_", "-"))
			if !slices.Contains(flags, flag) && !slices.Contains(flags, strings.TrimSuffix(flag, "-file")) && v != "FLOWGRAPH_NAME" {
				t.Errorf("%s names %s: there is no setting %s", name, v, flag)
			}
		}
	}
}

// A flag or command that a sentence names must be there.
func TestAFlagThatIsNamedIsNotThere(t *testing.T) {
	every, err := cli.Flags("")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for name, text := range docPages(t) {
		for _, m := range inText.FindAllStringSubmatch(block.ReplaceAllString(text, ""), -1) {
			line, called := strings.CutPrefix(m[1], "flowgraph ")
			known := every
			if called {
				command := strings.Fields(line)[0]
				if strings.ToUpper(command) == command || strings.HasPrefix(command, "-") {
					continue
				}
				if known, err = cli.Flags(command); err != nil || known == nil {
					t.Errorf("%s names the command %s, which is not there (%v)", name, command, err)
				}
			} else if !strings.HasPrefix(line, "--") {
				continue
			}
			for _, word := range strings.Fields(line) {
				flag, _, _ := strings.Cut(strings.TrimRight(word, ".,"), "=")
				if !strings.HasPrefix(flag, "--") || flag == "--help" || flag == "--version" {
					continue
				}
				named++
				if !slices.Contains(known, flag) {
					t.Errorf("%s: `%s`: there is no flag %s", name, m[1], flag)
				}
			}
		}
	}
	if named < 50 {
		t.Errorf("only %d flags were found", named)
	}
}
