package house_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// forbidden stands in no text of the repository. The words are put together
// here, else this file would hold them.
var forbidden = map[string]*regexp.Regexp{
	"a path of one machine": regexp.MustCompile(`/(wo` + `rk|ro` + `ot|ho` + `me)/`),
	"work left for later":   regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`),
}

// texts calls check for every text file of the repository.
func texts(t *testing.T, check func(path string, text []byte)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "flowgraph-demo", "flowgraph-dev", "golden", "fuzz"}, d.Name()) {
			return fs.SkipDir
		}
		if d.IsDir() || slices.Contains([]string{".gz", ".zst", ".pb", ".test", ".prof"}, filepath.Ext(path)) || path == root+"/flowgraph" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil && !bytes.ContainsRune(text, 0) {
			check(path, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTextsSpeakOfTheProjectAlone(t *testing.T) {
	seen := 0
	texts(t, func(path string, text []byte) {
		seen++
		for what, words := range forbidden {
			for _, m := range words.FindAllIndex(text, 3) {
				if filepath.Base(path) == "code_test.go" {
					continue // it names a context's constructor, to forbid it
				}
				t.Errorf("%s:%d: %s: %q", path, bytes.Count(text[:m[0]], []byte("\n"))+1, what, text[m[0]:m[1]])
			}
		}
	})
	if seen < 100 {
		t.Errorf("only %d files were read", seen)
	}
}

// A test that sleeps is slow where it works and fails where the machine is
// slower. In a bubble of testing/synctest sleeping takes no time.
func TestTestsDoNotSleep(t *testing.T) {
	texts(t, func(path string, text []byte) {
		if bytes.HasSuffix([]byte(path), []byte("_test.go")) && bytes.Contains(text, []byte("time.Sle"+"ep(")) &&
			!bytes.Contains(text, []byte(`"testing/synctest"`)) {
			t.Errorf("%s sleeps", path)
		}
	})
}
