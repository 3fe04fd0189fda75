package house_test

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"

	"flowgraph/internal/cli"
)

// root is the repository's, seen from this package.
const root = "../.."

// dockerfiles are the two that make our image: from the sources, and from the
// programs of a release.
var dockerfiles = []string{"/Dockerfile", "/deploy/release/Dockerfile"}

// pinned is an image with a tag that does not move.
var pinned = regexp.MustCompile(`^[a-z0-9./-]+:[A-Za-z0-9._-]*[0-9]+[.-][A-Za-z0-9._-]*$`)

func compose(t *testing.T) *types.Project {
	t.Helper()
	file := root + "/docker-compose.yml"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir: root, ConfigFiles: []types.ConfigFile{{Filename: file, Content: text}}, Environment: types.Mapping{},
	}, func(o *loader.Options) { o.SetProjectName("flowgraph", true) })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestComposeUsesImagesThatDoNotMove(t *testing.T) {
	for name, s := range compose(t).Services {
		switch {
		case s.Image == "flowgraph:local":
		case s.Build != nil || !pinned.MatchString(s.Image):
			t.Errorf("%s: image %q is not pinned to a version", name, s.Image)
		}
	}
	for _, file := range dockerfiles {
		text, err := os.ReadFile(root + file)
		if err != nil {
			t.Fatal(err)
		}
		var from []string
		for _, m := range regexp.MustCompile(`(?m)^FROM (?:--platform=\S+ )?(\S+)`).FindAllSubmatch(text, -1) {
			from = append(from, string(m[1]))
		}
		if len(from) != 2 || !pinned.MatchString(from[0]) || from[1] != "scratch" {
			t.Errorf("%s: the image is built from %v", file, from)
		}
		if !regexp.MustCompile(`(?m)^USER [1-9]\d*:[1-9]\d*$`).Match(text) {
			t.Errorf("%s: the image runs as root", file)
		}
	}
}

// What our own program is started with in the compose file goes through its
// command line, which refuses unknown flags, variables and values.
func TestComposeStartsTheProgramAsItIs(t *testing.T) {
	ours := 0
	for name, s := range compose(t).Services {
		if s.Image != "flowgraph:local" {
			continue
		}
		ours++
		var environ []string
		for k, v := range s.Environment {
			environ = append(environ, k+"="+*v)
		}
		var out bytes.Buffer
		err := cli.Main(cli.Process{
			Args: append(slices.Clone(s.Command), "--print-config"), Environ: environ, Stdout: &out, Stderr: &out,
			Stop: t.Context(), Kill: t.Context(),
		})
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, &out)
		}
	}
	check := compose(t).Services["worker"].HealthCheck.Test
	if len(check) < 3 || check[0] != "CMD" || check[1] != "/flowgraph" {
		t.Fatalf("the worker's health is asked by %q, which the image does not have", check)
	}
	if err := printed(t, nil, check[2:], new(map[string]any)); err != nil {
		t.Errorf("the worker's health is asked by %q: %v", check, err)
	}
	if ours != 2 {
		t.Errorf("%d services run the program, want worker and replay", ours)
	}
}

func TestComposeWaitsForWhatIsThere(t *testing.T) {
	p := compose(t)
	for name, s := range p.Services {
		for on, how := range s.DependsOn {
			other, ok := p.Services[on]
			switch {
			case !ok:
				t.Errorf("%s waits for %s, which does not exist", name, on)
			case how.Condition == types.ServiceConditionHealthy && other.HealthCheck == nil:
				t.Errorf("%s waits for the health of %s, which nothing checks", name, on)
			}
		}
		for _, v := range s.Volumes {
			if v.Type != types.VolumeTypeBind {
				continue
			}
			if _, err := os.Stat(v.Source); err != nil {
				t.Errorf("%s mounts what is not in the repository: %v", name, err)
			}
		}
	}
	replay := p.Services["replay"]
	file := strings.Replace(replay.Command[1], "/recordings/", root+"/testdata/recordings/", 1)
	if _, err := os.Stat(file); err != nil {
		t.Errorf("replay: %v", err)
	}
}

// Addresses inside the compose network: whoever is named must listen there.
func TestComposeServicesNameEachOther(t *testing.T) {
	p := compose(t)
	for _, c := range []struct{ where, address, service, listener string }{
		{*p.Services["worker"].Environment["FLOWGRAPH_BROKERS"], "kafka:19092", "kafka", "KAFKA_ADVERTISED_LISTENERS"},
		{strings.Join(p.Services["replay"].Command, " "), "kafka:19092", "kafka", "KAFKA_ADVERTISED_LISTENERS"},
	} {
		listeners := *p.Services[c.service].Environment[c.listener]
		if !strings.Contains(c.where, c.address) || !strings.Contains(listeners, "://"+c.address) {
			t.Errorf("%q is not at %q", c.where, listeners)
		}
	}
	worker := p.Services["worker"].Environment
	if mb := strings.Join(p.Services["bucket"].Command, " "); !strings.HasSuffix(mb, "/"+*worker["FLOWGRAPH_S3_BUCKET"]) {
		t.Errorf("the worker's bucket %q is not the one made: %q", *worker["FLOWGRAPH_S3_BUCKET"], mb)
	}
	minio := p.Services["minio"].Environment
	if *minio["MINIO_ROOT_USER"] != *worker["FLOWGRAPH_S3_ACCESS_KEY"] || *minio["MINIO_ROOT_PASSWORD"] != *worker["FLOWGRAPH_S3_SECRET_KEY"] {
		t.Error("the worker's keys are not MinIO's")
	}
}
