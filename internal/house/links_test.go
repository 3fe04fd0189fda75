package house_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// pages calls check for every Markdown page of the repository.
func pages(t *testing.T, check func(path, text string)) {
	t.Helper()
	seen := 0
	texts(t, func(path string, text []byte) {
		if filepath.Ext(path) == ".md" {
			seen++
			check(path, string(text))
		}
	})
	if seen < 8 {
		t.Errorf("only %d pages were read", seen)
	}
}

var (
	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	inline = regexp.MustCompile("`([^`\n]+)`")
	fence  = regexp.MustCompile("(?ms)^```.*?^```")
	ours   = regexp.MustCompile(`^(?:\.ci|checkpoints|deploy|docs|flows|internal|sinks|stages|testdata)/[A-Za-z0-9_./-]*$`)
)

// Who follows a link wants to arrive; a page that was moved or a heading that
// was reworded leaves it hanging.
func TestEveryLinkOfAPageLeadsSomewhere(t *testing.T) {
	found := 0
	pages(t, func(path, text string) {
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			found++
			if err := resolve(path, m[1]); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	})
	if found < 20 {
		t.Errorf("only %d links were followed", found)
	}
}

// A page that names a file or package by its path must not outlive it.
func TestEveryPathThatAPageNamesIsThere(t *testing.T) {
	pages(t, func(path, text string) {
		for _, m := range inline.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			if name := strings.Fields(m[1])[0]; ours.MatchString(name) && !strings.Contains(name, "...") {
				if _, err := os.Stat(filepath.Join(root, name)); err != nil {
					t.Errorf("%s names %s: %v", path, name, err)
				}
			}
		}
	})
}

func resolve(page, target string) error {
	file, anchor, _ := strings.Cut(target, "#")
	if file == "" {
		file = page
	} else {
		file = filepath.Join(filepath.Dir(page), file)
	}
	text, err := os.ReadFile(file)
	if info, statErr := os.Stat(file); statErr == nil && info.IsDir() && anchor == "" {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the link to %s: %w", target, err)
	}
	if anchor != "" && !anchors(string(text))[anchor] {
		return fmt.Errorf("the link to %s: no heading is called so", target)
	}
	return nil
}

// anchors are what a page's headings can be linked by, as GitHub makes them.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for line := range strings.Lines(fence.ReplaceAllString(text, "")) {
		title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !strings.HasPrefix(line, "#") || !ok {
			continue
		}
		slug := strings.Map(func(r rune) rune {
			switch {
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			case r == ' ':
				return '-'
			}
			return -1
		}, strings.TrimSpace(title))
		for n, name := 1, slug; ; n++ {
			if !all[name] {
				all[name] = true
				break
			}
			name = fmt.Sprint(slug, "-", n)
		}
	}
	return all
}
