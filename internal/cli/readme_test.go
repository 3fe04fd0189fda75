package cli_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"flowgraph/internal/cli"
)

const (
	readme     = "../../README.md"
	tableBegin = "<!-- configuration: made from the flags by go test ./internal/cli -update -->\n"
	tableEnd   = "<!-- end of configuration -->\n"
)

var update = flag.Bool("update", false, "write the README's configuration tables anew")

func TestTheReadmeDocumentsTheFlagsThereAre(t *testing.T) {
	table, err := cli.ConfigTable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), tableBegin)
	written, after, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		t.Fatalf("the README lacks the lines %s and %s", tableBegin, tableEnd)
	}
	if written == table {
		return
	}
	if !*update {
		t.Fatal("the README's configuration tables are not those of the flags: go test ./internal/cli -update")
	}
	if err := os.WriteFile(readme, []byte(before+tableBegin+table+tableEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
