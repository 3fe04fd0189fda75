package house_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"flowgraph/internal/cli"
)

// deployed is how something starts a worker: its arguments and environment, in
// which files lie where they will lie there.
type deployed struct {
	args    []string
	environ map[string]string
	files   map[string]string // path there -> file of the repository
	secrets []string          // paths there of secrets
}

// effective are the settings that a worker started so has in force: those that
// the tests of a deployment look at.
type effective struct {
	GracePeriod  string `yaml:"grace-period"`
	Listen       string `yaml:"listen"`
	InstanceID   string `yaml:"instance-id"`
	MemoryBudget string `yaml:"memory-budget"`
}

// printed parses a command line as the program does, which refuses unknown
// flags, variables and values, and reads the settings in force into v.
func printed(t *testing.T, environ, args []string, v any) error {
	t.Helper()
	var out, errs bytes.Buffer
	err := cli.Main(cli.Process{
		Args: append(args[:len(args):len(args)], "--print-config"), Environ: environ,
		Stdout: &out, Stderr: &errs, Stop: t.Context(), Kill: t.Context(),
	})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, &errs)
	}
	return yaml.Unmarshal(out.Bytes(), v)
}

// settings are what is in force in a deployment. What it reads of itself is
// put into a folder of the test's.
func settings(t *testing.T, d deployed) effective {
	t.Helper()
	here := map[string]string{}
	for _, path := range d.secrets {
		here[path] = filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(here[path], []byte("a secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, file := range d.files {
		here[path] = root + "/" + file
	}
	at := func(s string) string {
		if h, ok := here[s]; ok {
			return h
		}
		return s
	}
	var environ, args []string
	for name, value := range d.environ {
		if strings.HasSuffix(name, "_FILE") && here[value] == "" {
			t.Errorf("%s is %s, which is not there", name, value)
		}
		environ = append(environ, name+"="+at(value))
	}
	for _, a := range d.args {
		args = append(args, at(a))
	}
	var e effective
	if err := printed(t, environ, args, &e); err != nil {
		t.Fatal(err)
	}
	if e.InstanceID == "" {
		t.Error("the worker has no --instance-id: each restart rebalances the group")
	}
	if e.MemoryBudget != "0" && e.MemoryBudget != "0B" {
		t.Errorf("the memory budget is %s and does not follow the limit", e.MemoryBudget)
	}
	return e
}

// outlives checks that a worker is given longer to end than it takes.
func outlives(t *testing.T, given time.Duration, e effective) {
	t.Helper()
	grace, err := time.ParseDuration(e.GracePeriod)
	if err != nil {
		t.Fatal(err)
	}
	if given < grace+5*time.Second {
		t.Errorf("a worker that drains for up to %s is killed after %s", grace, given)
	}
}

// lastStage are the lines of a Dockerfile that make the image itself, without
// where its program is copied from.
func lastStage(t *testing.T, file string) (lines []string, labels map[string]bool) {
	t.Helper()
	text, err := os.ReadFile(root + file)
	if err != nil {
		t.Fatal(err)
	}
	joined := strings.ReplaceAll(string(text), "\\\n", "")
	labels = map[string]bool{}
	for line := range strings.Lines(joined[strings.LastIndex(joined, "\nFROM ")+1:]) {
		line = strings.TrimSpace(line)
		switch {
		case line == "", strings.HasPrefix(line, "#"), strings.HasPrefix(line, "ARG "):
		case strings.HasPrefix(line, "LABEL "):
			for _, m := range regexp.MustCompile(`([a-z.]+)="`).FindAllStringSubmatch(line, -1) {
				labels[m[1]] = true
			}
		default:
			lines = append(lines, regexp.MustCompile(`^COPY .* /flowgraph$`).ReplaceAllString(line, "COPY the program"))
		}
	}
	return lines, labels
}

// goreleaser is what is checked of the configuration of a release.
type goreleaser struct {
	Builds []struct {
		Env     []string
		Ldflags []string
	}
	Archives []struct{ Files []any }
	Dockers  []struct {
		Dockerfile string
		Labels     map[string]string
	} `yaml:"dockers_v2"`
}

func TestAReleaseIsTheImageThatIsBuiltHere(t *testing.T) {
	var release goreleaser
	fromYAML(t, root+"/.goreleaser.yaml", &release)
	if len(release.Dockers) != 1 || len(release.Builds) != 1 {
		t.Fatalf("a release is %+v", release)
	}
	ours, labels := lastStage(t, dockerfiles[0])
	theirs, none := lastStage(t, "/"+release.Dockers[0].Dockerfile)
	if strings.Join(ours, "\n") != strings.Join(theirs, "\n") || len(none) > 0 {
		t.Errorf("the images differ:\n%s\n\n%s", strings.Join(ours, "\n"), strings.Join(theirs, "\n"))
	}
	for l := range labels {
		if release.Dockers[0].Labels[l] == "" {
			t.Errorf("the image of a release lacks the label %s", l)
		}
	}
	if len(labels) < 5 || len(labels) != len(release.Dockers[0].Labels) {
		t.Errorf("labels are %v and %v", labels, release.Dockers[0].Labels)
	}
	for _, f := range release.Archives[0].Files {
		if name, ok := f.(string); ok {
			if found, err := filepath.Glob(root + "/" + name); err != nil || len(found) == 0 {
				t.Errorf("an archive holds %s, which does not exist (%v)", name, err)
			}
		}
	}
}

// The linker says nothing when the variable that it is told to write does not
// exist.
func TestAReleaseIsStampedWhereTheProgramLooks(t *testing.T) {
	for _, file := range []string{"/Dockerfile", "/.goreleaser.yaml"} {
		text, err := os.ReadFile(root + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`-X (\S+?)=`).FindAllStringSubmatch(string(text), -1) {
			if m[1] != "main.version" {
				t.Errorf("%s stamps %s", file, m[1])
			}
		}
		if !strings.Contains(string(text), "-X main.version=") {
			t.Errorf("%s stamps no version", file)
		}
	}
	main, err := os.ReadFile(root + "/main.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(main, []byte("\nvar version string\n")) {
		t.Error("main has no variable version")
	}
}
