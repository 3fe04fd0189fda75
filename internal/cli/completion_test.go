package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"flowgraph/internal/cli"
)

// completionScript is a file with the script for a shell; the test is skipped
// where there is no such shell.
func completionScript(t *testing.T, shell string) string {
	t.Helper()
	if _, err := exec.LookPath(shell); err != nil {
		t.Skipf("there is no %s here", shell)
	}
	r := flowgraph(t, nil, "completion", shell)
	if r.code != 0 {
		t.Fatal(r.err)
	}
	path := filepath.Join(t.TempDir(), "_flowgraph")
	if err := os.WriteFile(path, []byte(r.out), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// shell runs a program and wants it to say nothing of errors.
func shell(t *testing.T, dir string, args ...string) string {
	t.Helper()
	var errs strings.Builder
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Stderr = dir, &errs
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TERM=dumb"}
	out, err := cmd.Output()
	if err != nil || errs.Len() > 0 {
		t.Fatalf("%v: %v\n%s", args, err, &errs)
	}
	return string(out)
}

// What is typed, its words parted as bash does it, and what is offered.
var completed = []struct {
	typed string
	all   bool // offered is all there is
	want  string
}{
	{"flowgraph re", true, "record replay restore resume rewind"},
	{"flowgraph --log-level = debug accept", true, "accept-document accept-log"},
	{"flowgraph --config run.yaml ver", true, "verify"},
	{"flowgraph run --on-g", true, "--on-gap"},
	{"flowgraph inspect --on-g", true, ""},
	{"flowgraph run --on-gap st", true, "stop"},
	{"flowgraph run --on-gap = ", true, "stop continue"},
	{"flowgraph run --on-gap =", true, "stop continue"},
	{"flowgraph run --until-end --on-gap c", true, "continue"},
	{"flowgraph run --on-gap=c", true, "--on-gap=continue"},
	{"flowgraph run --group verify --bloom-filter ", true, "blocked basic"},
	{"flowgraph run --group ", true, ""},
	{"flowgraph run --until-end --log-f", true, "--log-format"},
	{"flowgraph completion ", true, "bash zsh fish"},
	{"flowgraph record -", false, "-o --output --topics"},
	{"flowgraph record -o re", true, "rec.gz recordings"},
	{"flowgraph run --schema-file re", true, "rec.gz recordings"},
	{"flowgraph export con --out re", true, "recordings"},
	{"flowgraph replay re", true, "rec.gz recordings"},
}

// aFolder has a file and a folder to be offered.
func aFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "recordings"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "rec.gz"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestBashOffersWhatTheCommandLineTakes(t *testing.T) {
	script, dir := completionScript(t, "bash"), aFolder(t)
	for _, c := range completed {
		words := strings.Split(c.typed, " ")
		out := shell(t, dir, append([]string{"bash", "-uc",
			`source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _flowgraph; printf '%s\n' ${COMPREPLY[@]+"${COMPREPLY[@]}"}`, script}, words...)...)
		offers(t, c.typed, strings.Fields(out), strings.Fields(c.want), c.all)
	}
}

func TestFishOffersWhatTheCommandLineTakes(t *testing.T) {
	script, dir := completionScript(t, "fish"), aFolder(t)
	shell(t, dir, "fish", "--no-execute", script)
	for _, c := range completed {
		if strings.Contains(c.typed, " =") || strings.HasPrefix(c.typed, "flowgraph --") || strings.HasSuffix(c.typed, " -") {
			continue // words of bash; before the command; -o and --output are one line
		}
		out := shell(t, dir, "fish", "--no-config", "-c", `source $argv[1]; complete -C $argv[2]`, script, c.typed)
		var offered []string
		for line := range strings.Lines(out) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			offered = append(offered, strings.TrimSuffix(word, "/"))
		}
		offers(t, c.typed, offered, strings.Fields(c.want), c.all)
	}
}

func TestZshReadsItsScript(t *testing.T) {
	shell(t, t.TempDir(), "zsh", "-fn", completionScript(t, "zsh"))
}

func offers(t *testing.T, typed string, offered, want []string, all bool) {
	t.Helper()
	for _, w := range want {
		if !slices.Contains(offered, w) {
			t.Errorf("%q: %q is not offered in %q", typed, w, offered)
		}
	}
	if all && len(offered) != len(want) {
		t.Errorf("%q: offered is %q, want %q", typed, offered, want)
	}
}

func TestShellsWithoutACompletionAreNamed(t *testing.T) {
	if r := flowgraph(t, nil, "completion", "tcsh"); r.code != cli.ExitUsage || !strings.Contains(r.err, "bash") {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
}

func TestTheManualPageIsWhole(t *testing.T) {
	page := flowgraph(t, nil, "man")
	if page.code != 0 {
		t.Fatal(page.err)
	}
	for _, want := range []string{`.SS "accept\-log"`, `.SS "replay FILE"`, `\fB\-\-grace\-period\fR=\fITIME\fR`, ".SH \"EXIT STATUS\""} {
		if !strings.Contains(page.out, want) {
			t.Errorf("%q is not in it", want)
		}
	}
	// A flag of several commands is told once.
	if n := strings.Count(page.out, `\fB\-\-s3\-bucket\fR`); n != 1 {
		t.Errorf("--s3-bucket is told %d times", n)
	}
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip("there is no groff here to render it")
	}
	path := filepath.Join(t.TempDir(), "flowgraph.1")
	if err := os.WriteFile(path, []byte(page.out), 0o600); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(shell(t, t.TempDir(), "groff", "-man", "-ww", "-Tascii", "-P-cbou", path)), " ")
	for _, want := range []string{"--listen-names=NAME,... Host", "FLOWGRAPH_S3_SECRET_KEY_FILE", "SIGTERM and SIGINT"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the page as it is shown", want)
		}
	}
}
