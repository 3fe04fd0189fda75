package cli_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"flowgraph/internal/cli"
)

const (
	readme      = "../../README.md"
	reference   = "../../docs/reference/"
	tableBegin  = "<!-- configuration: made from the flags by go test ./internal/cli -update -->\n"
	tableEnd    = "<!-- end of configuration -->\n"
	settingsTop = "# Settings\n\n<!-- made from the flags by go test ./internal/cli -update -run Readme -->\n\n" +
		"Settings come from flags, from the environment (`--s3-endpoint` as `FLOWGRAPH_S3_ENDPOINT`) and from a YAML file (`--config FILE`\n" +
		"with keys as `s3-endpoint`), in this order of precedence. An unknown name is refused in all three. A secret can also be given as the\n" +
		"name of a file that holds it: `FLOWGRAPH_S3_SECRET_KEY_FILE`. Sizes and times have units: `64MiB`, `10s`.\n" +
		"`flowgraph run --print-config` shows what is in force, with secrets hidden. [Commands](commands.md) has the flags of the others.\n"
)

var update = flag.Bool("update", false, "write anew what is made from the command line: the README's table of settings, pages of docs/reference")

// hold compares a page, or its part between two lines, with what it is made
// from, or writes it.
func hold(t *testing.T, path, begin, end, want string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !(*update && os.IsNotExist(err) && begin == "") {
		t.Fatal(err)
	}
	before, written, after := "", string(text), ""
	if begin != "" {
		var ok, ok2 bool
		before, written, ok = strings.Cut(written, begin)
		written, after, ok2 = strings.Cut(written, end)
		if !ok || !ok2 {
			t.Fatalf("%s lacks the lines %s and %s", path, begin, end)
		}
	}
	if written == want {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the command line is: go test ./internal/cli -update -run Readme", path)
	}
	if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Who reads of a setting that is not there, or has another default, is led
// astray; so is who looks for one that nobody wrote down.
func TestTheReadmeAndItsReferenceDocumentTheFlagsThereAre(t *testing.T) {
	made := map[string]func() (string, error){
		"settings": cli.ConfigTable,
		"commands": cli.CommandPage,
		"first":    cli.FirstSettings,
	}
	pages := map[string]string{}
	for name, f := range made {
		text, err := f()
		if err != nil {
			t.Fatal(fmt.Errorf("%s: %w", name, err))
		}
		pages[name] = text
	}
	hold(t, reference+"settings.md", "", "", settingsTop+pages["settings"])
	hold(t, reference+"commands.md", "", "", pages["commands"])
	hold(t, readme, tableBegin, tableEnd, pages["first"])
}
