package completion_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"flowgraph/internal/cli/completion"
)

// nested has what our own command line may come to have: commands below
// commands, with flags on the way, and signs that shells take for their own.
type nested struct {
	Loud bool `help:"Say 'more': [much] \\ more. And on."`
	Near struct {
		Far struct {
			Color string `enum:"red,blue" default:"red" help:"Its $color; it's \"one\"."`
			Where string `arg:"" enum:"here,there" help:"Where."`
		} `cmd:"" help:"Go far."`
		Away struct{} `cmd:"" help:"Go away."`
		Deep string   `placeholder:"DIR" help:"How deep."`
		Old  struct{} `cmd:"" hidden:""`
	} `cmd:"" help:"Go: near."`
	Far struct{} `cmd:"" help:"Another one."`
}

func script(t *testing.T, shell string) string {
	t.Helper()
	parser, err := kong.New(new(nested), kong.Name("program"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := completion.Script(shell, parser.Model)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "_program")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// ask runs a shell, which must not complain.
func ask(t *testing.T, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(args[0]); err != nil {
		t.Skipf("there is no %s here", args[0])
	}
	var errs strings.Builder
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Stderr = t.TempDir(), &errs
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir, "TERM=dumb"}
	out, err := cmd.Output()
	if err != nil || errs.Len() > 0 {
		t.Fatalf("%v: %v\n%s", args, err, &errs)
	}
	return string(out)
}

var offered = []struct{ typed, want string }{
	{"program ", "near far"},
	{"program near ", "far away"},
	{"program near --deep far ", "far away"}, // the first far is a value
	{"program --loud near fa", "far"},
	{"program near far --co", "--color"},
	{"program near away --co", ""},
	{"program near far --de", "--deep"}, // of the command above
	{"program far --de", ""},
	{"program near far --color ", "red blue"},
	{"program near far ", "here there"},
	{"program far ", ""},
}

func TestBashKnowsCommandsBelowCommands(t *testing.T) {
	path := script(t, "bash")
	for _, c := range offered {
		out := ask(t, append([]string{"bash", "-uc",
			`source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _program; printf '%s\n' ${COMPREPLY[@]+"${COMPREPLY[@]}"}`, path},
			strings.Split(c.typed, " ")...)...)
		if got := strings.Join(strings.Fields(out), " "); got != c.want {
			t.Errorf("%q: offered is %q, want %q", c.typed, got, c.want)
		}
	}
}

func TestFishKnowsCommandsBelowCommands(t *testing.T) {
	path := script(t, "fish")
	for _, c := range offered {
		if strings.HasPrefix(c.typed, "program near --deep far") {
			continue // fish looks for the words anywhere
		}
		out := ask(t, "fish", "--no-config", "-c", `source $argv[1]; complete -C $argv[2]`, path, c.typed)
		got := map[string]bool{}
		for line := range strings.Lines(out) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			got[word] = true
		}
		want := strings.Fields(c.want)
		for _, w := range want {
			if !got[w] {
				t.Errorf("%q: %q is not offered in %q", c.typed, w, out)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%q: offered is %q, want %q", c.typed, out, want)
		}
	}
}

func TestZshReadsASignThatItWouldTakeForItsOwn(t *testing.T) {
	path := script(t, "zsh")
	ask(t, "zsh", "-fn", path)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"_program_commands_near() {", `'--loud[Say '\''more'\''\: \[much\] \\ more]'`, `'near:Go: near'`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
}
