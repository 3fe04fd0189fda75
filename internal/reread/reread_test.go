package reread_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"flowgraph/internal/reread"
)

func TestABadNewFileReplacesAGoodSecretOrIsKeptSilent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var told []error
	write("one\n")
	v, err := reread.Text(path, func(err error) { told = append(told, err) })
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Get(); got != "one" || len(told) != 0 {
		t.Errorf("%q, told %v", got, told)
	}
	write("two\n") // as long as before, maybe within one tick of the clock
	if got := v.Get(); got != "two" || len(told) != 1 || told[0] != nil {
		t.Errorf("%q, told %v", got, told)
	}
	write("\n")
	for range 3 {
		if got := v.Get(); got != "two" {
			t.Errorf("an empty file made %q", got)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := v.Get(); got != "two" {
		t.Errorf("a missing file made %q", got)
	}
	if len(told) != 3 || told[1] == nil || !strings.Contains(told[1].Error(), path) || told[2] == nil {
		t.Errorf("told %v", told)
	}
	write("three")
	if got := v.Get(); got != "three" || len(told) != 4 || told[3] != nil {
		t.Errorf("%q, told %v", got, told)
	}
}

func TestASecretThatIsMissingAtTheStartIsAnError(t *testing.T) {
	none := func(error) {}
	if _, err := reread.Text("/nowhere", none); err == nil {
		t.Error("a missing file is no error")
	}
	if _, err := reread.KeyPair("/nowhere", "/nowhere", none); err == nil {
		t.Error("a missing key is no error")
	}
	if _, err := reread.Trusting("/dev/null"); err == nil || !strings.Contains(err.Error(), "no certificate") {
		t.Errorf("a file without certificates: %v", err)
	}
}
