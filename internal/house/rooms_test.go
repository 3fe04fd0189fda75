package house_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "flowgraph"

// rooms says for every package which others of this module it may import.
// Values flow from flows down to checkpoints, knowledge never flows up.
var rooms = map[string][]string{
	"": {"internal/cli"},
	"internal/cli": {
		"internal/cli/completion", "internal/cli/manpage",
		"flows", "internal/archive", "internal/channelinfo", "internal/demo", "internal/devstack", "internal/export", "internal/kafka", "internal/milvus", "internal/recording", "internal/reread", "internal/restore", "internal/top", "internal/web", "internal/webclient",
		"sinks", "sinks/binlog", "stages", "stages/column", "checkpoints", "testdata/recordings",
	},
	"internal/demo":        {"internal/archive", "internal/devstack", "internal/recording", "sinks", "checkpoints"},
	"internal/web":         {"flows", "sinks"},
	"internal/web/webtest": {"flows", "internal/web", "sinks"}, // for tests
	"internal/webclient":   {"flows", "internal/web"},          // the other end of its API
	"internal/top":         {"flows", "internal/web", "internal/webclient"},
	"internal/archive":     {"internal/recording", "sinks/binlog", "stages/column", "checkpoints"},
	"internal/channelinfo": {"internal/archive", "checkpoints"},
	"internal/export":      {"internal/archive", "stages/column"},
	"internal/recording":   {"checkpoints"},
	"internal/milvus":      {"internal/reread"},
	"internal/restore":     {"internal/archive", "internal/milvus", "sinks/binlog", "stages/column", "checkpoints"},
	"internal/bench":       {"internal/devstack", "internal/nullstore", "sinks/binlog", "stages/column"},
	"internal/nullstore":   {},
	"internal/scale":       {},
	"internal/membucket":   {"checkpoints"}, // for tests, as are house, proctest and traffic
	"internal/devstack":    {},
	"internal/kafka":       {"internal/reread"},
	"internal/reread":      {},
	"internal/testpki":     {}, // for tests
	"internal/house":       {},
	"internal/explore":     {},
	"internal/badstore":    {},
	"internal/proctest":    {},
	"internal/roundtrip":   {},
	"internal/traffic":     {"internal/recording"},
	"internal/testlog":     {"flows", "internal/devstack", "internal/membucket", "internal/recording", "checkpoints"},
	"flows":                {"sinks", "sinks/binlog", "stages", "stages/wire", "stages/column", "checkpoints"},
	"sinks":                {"internal/reread", "sinks/binlog", "stages", "stages/column", "checkpoints"},
	"sinks/binlog":         {"stages/column"},
	"stages":               {"stages/wire", "stages/column", "stages/varint", "checkpoints"},
	"stages/wire":          {"stages/column", "stages/varint"},
	"stages/column":        {"stages/varint"},
	"stages/varint":        {},
	"checkpoints":          {},
	"testdata/recordings":  {},

	"internal/cli/completion": {}, // read the definition of the command line
	"internal/cli/manpage":    {},
}

// outside says which packages may import what of others; what is not named
// here is free. The longest prefix counts.
var outside = map[string][]string{
	"github.com/twmb/franz-go":              {"flows", "internal/kafka", "internal/recording", "internal/devstack", "internal/traffic", "internal/bench", "internal/cli"},
	"github.com/twmb/franz-go/pkg/kfake":    {"internal/devstack"},
	"github.com/reugn/go-streams":           {"flows", "sinks"}, // sinks is one
	"github.com/reugn/go-streams/flow":      {"flows"},
	"github.com/reugn/go-streams/extension": {"flows"},
	"github.com/minio/minio-go":             {"sinks"},
	"github.com/versity/versitygw":          {"internal/devstack"},
	"github.com/alecthomas/kong":            {"internal/cli", "internal/cli/completion", "internal/cli/manpage"},
	"github.com/gdamore/tcell":              {"internal/top"},
	"github.com/rs/zerolog":                 {"internal/cli", "internal/demo", "internal/kafka", "internal/testlog", "internal/web", "flows", "sinks"},
	"github.com/prometheus":                 {"internal/cli", "internal/testlog", "internal/web", "flows"},
	"github.com/milvus-io/milvus-proto":     {"internal/archive", "internal/bench", "internal/export", "internal/milvus", "internal/restore", "internal/traffic", "internal/cli", "sinks/binlog", "stages", "stages/wire", "stages/column"},
	"google.golang.org/grpc":                {"internal/milvus"},
	"github.com/compose-spec/compose-go":    {},
	"github.com/VictoriaMetrics/metricsql":  {},
}

// listed is a package as the go command tells of it, without its tests.
type listed struct {
	Dir        string
	ImportPath string
	Imports    []string
	GoFiles    []string
}

// packages lists those of this module that the program or a test may use.
func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=Dir,ImportPath,Imports,GoFiles", "./...")
	cmd.Dir = root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if p.ImportPath == module || strings.HasPrefix(p.ImportPath, module+"/") {
			all = append(all, p)
		}
	}
}

func room(path string) string { return strings.TrimPrefix(strings.TrimPrefix(path, module), "/") }

func TestPackagesKnowOnlyWhatLiesBelowThem(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range packages(t) {
		name := room(p.ImportPath)
		seen[name] = true
		allowed, known := rooms[name]
		if !known {
			t.Errorf("package %s has no place in the table of rooms: give it one", p.ImportPath)
			continue
		}
		for _, i := range p.Imports {
			if strings.HasPrefix(i, module+"/") && !slices.Contains(allowed, room(i)) {
				t.Errorf("%s imports %s", p.ImportPath, i)
			}
			if by, ok := mayImport(i); ok && !slices.Contains(by, name) {
				t.Errorf("%s imports %s, which is for %v", p.ImportPath, i, by)
			}
		}
	}
	for name := range rooms {
		if !seen[name] {
			t.Errorf("the table of rooms has %q, which does not exist", name)
		}
	}
}

// mayImport is the entry of the longest prefix of an import path.
func mayImport(path string) (by []string, ok bool) {
	best := ""
	for prefix, names := range outside {
		if (path == prefix || strings.HasPrefix(path, prefix+"/")) && len(prefix) > len(best) {
			best, by, ok = prefix, names, true
		}
	}
	return by, ok
}
