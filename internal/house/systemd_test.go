package house_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"flowgraph/internal/cli"
)

const unitFile = root + "/deploy/systemd/flowgraph.service"

// unit are the settings of a unit of systemd, without its sections.
func unit(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if name, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			out[name] = append(out[name], value)
		}
	}
	return out
}

func TestSystemdStartsTheProgramAsItIs(t *testing.T) {
	u := unit(t)
	const credentials = "/run/credentials/flowgraph.service"
	expand := strings.NewReplacer("%d", credentials, "%H", "a-machine").Replace
	d := deployed{
		args:    strings.Fields(u["ExecStart"][0])[1:],
		environ: map[string]string{},
		files:   map[string]string{"/etc/flowgraph/flowgraph.yaml": "deploy/systemd/flowgraph.yaml"},
	}
	for _, e := range u["Environment"] {
		name, value, _ := strings.Cut(e, "=")
		d.environ[name] = expand(value)
	}
	for _, c := range u["LoadCredential"] {
		name, _, _ := strings.Cut(c, ":")
		d.secrets = append(d.secrets, credentials+"/"+name)
	}
	e := settings(t, d)
	given, err := time.ParseDuration(u["TimeoutStopSec"][0])
	if err != nil {
		t.Fatal(err)
	}
	outlives(t, given, e)
	if not := u["RestartPreventExitStatus"]; !slices.Equal(not, []string{strconv.Itoa(cli.ExitUsage)}) || u["Restart"][0] != "on-failure" {
		t.Errorf("it is started again %s, but not after %s", u["Restart"], not)
	}
	if u["DynamicUser"][0] != "yes" || u["MemoryMax"] == nil {
		t.Error("the unit runs as root, or has no limit of memory")
	}
}

func TestSystemdTakesTheUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze here")
	}
	text, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable() // the program is not installed
	if err != nil {
		t.Fatal(err)
	}
	// Nor is its manual page, for which systemd looks.
	fixed := strings.NewReplacer("/usr/local/bin/flowgraph", self, "Documentation=man:flowgraph(1)\n", "").Replace(string(text))
	path := filepath.Join(t.TempDir(), "flowgraph.service")
	if err := os.WriteFile(path, []byte(fixed), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), analyze, "verify", path).CombinedOutput(); err != nil || strings.Contains(string(out), "flowgraph.service:") {
		t.Errorf("%v\n%s", err, out)
	}
}
