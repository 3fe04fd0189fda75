package manpage_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"flowgraph/internal/cli/manpage"
)

// awkward has what roff would take for its own.
type awkward struct {
	Near struct {
		Far struct {
			Path  string `help:".hidden files, 'quoted' ones, C:\\new and ~/a-b too. Once more." default:"a\\b"`
			Other bool   `help:"Alone."`
		} `cmd:"" help:"Go far."`
	} `cmd:"" help:"Go near."`
	Back struct {
		Path string `help:".hidden files, 'quoted' ones, C:\\new and ~/a-b too. Once more." default:"a\\b"`
	} `cmd:"" help:"Go back."`
}

func TestTextIsShownAsItIs(t *testing.T) {
	parser, err := kong.New(new(awkward), kong.Name("program"), kong.Description("Goes \"about\". Everywhere."))
	if err != nil {
		t.Fatal(err)
	}
	page := manpage.Write(parser.Model, manpage.Page{
		Version:  `program "1"`,
		Sections: []manpage.Section{{Title: "NOTES", Text: "'One.\n\n.Two.", Terms: []manpage.Term{{Name: "A-B", Meaning: ".c"}}}},
	})
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip("there is no groff here")
	}
	var errs strings.Builder
	cmd := exec.CommandContext(t.Context(), "groff", "-man", "-ww", "-Tascii", "-P-cbou")
	cmd.Stdin, cmd.Stderr = strings.NewReader(page), &errs
	out, err := cmd.Output()
	if err != nil || errs.Len() > 0 {
		t.Fatalf("%v\n%s\n%s", err, &errs, page)
	}
	shown := strings.Join(strings.Fields(string(out)), " ")
	for _, want := range []string{
		`program - goes "about"`, "near far Go far.", "--other Alone.", "Shared options: --path.",
		`.hidden files, 'quoted' ones, C:\new and ~/a-b too. Once more. Default: a\b.`,
		"'One. .Two. A-B .c", `program "1"`,
	} {
		if strings.Count(shown, want) == 0 {
			t.Errorf("%q is not in\n%s", want, shown)
		}
	}
}
