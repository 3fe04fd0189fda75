package house_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The list of failures that others had is worth something only while the tests
// that it names are there.
func TestAListedFailureIsHeldByNoTest(t *testing.T) {
	tests := map[string]bool{}
	texts(t, func(path string, text []byte) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllSubmatch(text, -1) {
			tests[string(m[1])] = true
		}
	})
	text, err := os.ReadFile(filepath.Join(root, "docs", "failures.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+|[a-z/]+/[a-z0-9_]+\\.txt)`")
	for i, line := range bytes.Split(text, []byte("\n")) {
		cells := strings.Split(string(line), "|")
		if len(cells) != 5 || strings.HasPrefix(cells[1], " failure") || strings.HasPrefix(cells[1], "---") {
			continue
		}
		rows++
		held := named.FindAllStringSubmatch(cells[3], -1)
		if want := strings.Count(cells[3], ",") + 1; len(held) != want {
			t.Errorf("line %d names %d tests that can be understood, and seems to name %d", i+1, len(held), want)
		}
		for _, m := range held {
			_, err := os.Stat(filepath.Join(root, m[1]))
			if !tests[m[1]] && (err != nil || !strings.Contains(m[1], "/")) {
				t.Errorf("line %d: there is no %s", i+1, m[1])
			}
		}
	}
	if rows < 49 {
		t.Errorf("only %d failures are listed", rows)
	}
}
