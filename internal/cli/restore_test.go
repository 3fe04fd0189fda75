package cli_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"flowgraph/internal/cli"
)

func TestADryRunShowsWhatWouldBeRestored(t *testing.T) {
	env, bucket := archived(t, "ddl")
	objects := func() (n int) {
		for _, err := range bucket.List(t.Context(), "") {
			if n++; err != nil {
				t.Fatal(err)
			}
		}
		return n
	}
	before := objects()
	r := flowgraph(t, env, "restore", "--collection", "ddl", "--as", "copy", "--dry-run")
	if r.code != 0 || strings.Contains(r.err, "warning") {
		t.Fatalf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
	for _, want := range []string{`(?m)^into +copy$`, `(?m)^100 +\w+ +Int64$`, `(?m)^p2 +\d+ +\d+ +\d+ +\d`, `(?m)^\d partitions +\d+ +\d+ +255 `} {
		if !regexp.MustCompile(want).MatchString(r.out) {
			t.Errorf("no %s in\n%s", want, r.out)
		}
	}
	if after := objects(); after != before {
		t.Errorf("a dry run left %d objects", after-before)
	}
}

func TestARestoreSaysWhatIsMissing(t *testing.T) {
	env, _ := archived(t, "ddl")
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"--collection ddl", "--milvus is missing", cli.ExitUsage},
		{"--collection ddl --milvus nowhere", "HOST:PORT", cli.ExitUsage},
		{"--milvus 127.0.0.1:1", "--collection", cli.ExitUsage},
		{"--collection ddl --milvus 127.0.0.1:1 --stage-access-key a", "belong together", cli.ExitUsage},
		{"--collection ddl --milvus 127.0.0.1:1 --stage-session-token a", "--stage-session-token needs", cli.ExitUsage},
		{"--collection gon --dry-run", `did you mean "gone"?`, cli.ExitFailed},
		{"--collection ddl --milvus 127.0.0.1:1", "the same command goes on", cli.ExitFailed},
	} {
		r := flowgraph(t, env, append([]string{"restore"}, strings.Fields(c.args)...)...)
		if r.code != c.code || !strings.Contains(r.err, c.want) {
			t.Errorf("%s: exit code %d, %s", c.args, r.code, r.err)
		}
	}
}

// Temporary keys without their token are no keys.
func TestTheStageIsAskedWithItsOwnSessionToken(t *testing.T) {
	env, _ := archived(t, "ddl")
	var tokens sync.Map
	stage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tokens.Store(r.Header.Get("X-Amz-Security-Token"), true)
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, "<Error><Code>NoSuchKey</Code></Error>")
	}))
	defer stage.Close()
	env = append(env, "FLOWGRAPH_S3_REGION=us-east-1", "FLOWGRAPH_STAGE_SESSION_TOKEN_FILE="+file(t, "temporary\n"))
	flowgraph(t, env, "restore", "--collection", "ddl", "--milvus", "127.0.0.1:1", "--stage-endpoint", stage.URL, "--stage-access-key", "a", "--stage-secret-key", "b")
	n := 0
	for token := range tokens.Range {
		if n++; token != "temporary" {
			t.Errorf("asked with the token %q", token)
		}
	}
	if n == 0 {
		t.Error("the stage was not asked")
	}
}

func TestCollectionsTellsLivesAndRows(t *testing.T) {
	env, _ := archived(t, "ddl")
	r := flowgraph(t, env, "collections", "--rows")
	if r.code != 0 || strings.Contains(r.err, "warning") {
		t.Fatalf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
	for _, want := range []string{`(?m)^ddl +\d+ +\S+Z +- +\S+Z +\S+Z +\d+ +255$`, `(?m)^gone +\d+ +\S+Z +\S+Z +\S+Z +\S+Z +\d+ +\d+$`, `(?m)^gone +\d+ +\S+Z +- +\S+Z +\S+Z +\d+ +30$`} {
		if !regexp.MustCompile(want).MatchString(r.out) {
			t.Errorf("no %s in\n%s", want, r.out)
		}
	}
}
