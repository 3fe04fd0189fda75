package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"flowgraph/internal/cli"
)

// marker is the secret that a test gives a flag.
func marker(flag string) string { return "MARKER-" + flag + "-5f1c" }

var markers = regexp.MustCompile(`MARKER-[a-z0-9-]+-5f1c`)

// shown fails for every secret in a text.
func shown(t *testing.T, where, text string) {
	t.Helper()
	for _, m := range slices.Compact(slices.Sorted(slices.Values(markers.FindAllString(text, -1)))) {
		i := strings.Index(text, m)
		t.Errorf("%s shows %s: ...%s", where, m, text[max(0, i-300):min(len(text), i+100)])
	}
}

// A command with secrets and what it needs besides them. Everything is refused
// at first sight, or fails where it first logs in: nothing answers at the
// addresses, or refuses. No worker is asked at the default address: a real one
// of whoever runs the tests would do as it is told.
var leastArgs = map[string][]string{
	"run":         {"--topics", "t", "--listen", "", "--until-end"},
	"record":      {"--topics", "t", "-o", "records.jsonl"},
	"replay":      {"nothing.jsonl"},
	"inspect":     {},
	"binlog":      {"files/insert_log/1/2/3/4/5"},
	"export":      {"c", "--out", "out"},
	"collections": {},
	"restore":     {"--collection", "c", "--milvus", "127.0.0.1:1"},
	"verify":      {"--topics", "t"},
	"gc":          {},
	"rewind":      {"--vchannel", "t-0", "--beginning"},
	"accept-log":  {"--vchannel", "t-0"},

	"accept-document": {"--vchannel", "t-0"},
	"config":          {},
	"top":             {"--worker", nowhere},
	"flush":           {"--all", "--worker", nowhere},
	"seal":            {"--all", "--worker", nowhere},
	"pause":           {"--all", "--worker", nowhere},
	"resume":          {"--all", "--worker", nowhere},
	"log-level":       {"--worker", nowhere},
}

// secretsOf leaves out flags that exclude others, each in turn.
func secretsOf(all []string) [][]string {
	without := func(names ...string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(f string) bool { return slices.Contains(names, f) })
	}
	return [][]string{
		all, without("kafka-oauth-client-secret", "milvus-token"), without("kafka-password", "milvus-password"),
		without("kafka-oauth-client-secret", "kafka-password", "milvus-token", "milvus-password"),
	}
}

// companions are what the secrets do not work without.
func companions(end string, secrets []string) (args []string) {
	for _, s := range secrets {
		switch s {
		case "kafka-password":
			args = append(args, "--kafka-sasl", "plain", "--kafka-user", "u")
		case "kafka-oauth-client-secret":
			args = append(args, "--kafka-sasl", "oauthbearer", "--kafka-oauth-client-id", "i", "--kafka-oauth-token-url", end+"/token")
		case "milvus-password":
			args = append(args, "--milvus-user", "u")
		}
	}
	return args
}

// givenAs hands secrets over in one of the four ways.
func givenAs(t *testing.T, way string, secrets []string) (env, args []string) {
	t.Helper()
	dir, yaml := t.TempDir(), ""
	for _, s := range secrets {
		name := "FLOWGRAPH_" + strings.ToUpper(strings.ReplaceAll(s, "-", "_"))
		switch way {
		case "flag":
			args = append(args, "--"+s, marker(s))
		case "environment":
			env = append(env, name+"="+marker(s))
		case "YAML":
			yaml += s + ": " + marker(s) + "\n"
		case "file":
			path := filepath.Join(dir, s)
			if err := os.WriteFile(path, []byte(marker(s)+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			env = append(env, name+"_FILE="+path)
		}
	}
	if yaml != "" {
		args = append(args, "--config", file(t, yaml))
	}
	return env, args
}

// A secret of any command, given in any way, is in nothing that the command
// writes, whatever goes wrong.
func TestASecretIsShownByACommandThatFails(t *testing.T) {
	commands, err := cli.SecretFlags()
	if err != nil {
		t.Fatal(err)
	}
	for _, must := range []string{"run", "verify", "gc", "inspect", "restore"} {
		if len(commands[must]) < 3 {
			t.Errorf("%s takes only %q", must, commands[must])
		}
	}
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if r.URL.Path == "/token" {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":"invalid_client","error_description":"no: %s %s"}`, user, password)
			return
		}
		w.WriteHeader(http.StatusForbidden) // and says back all that it was told
		fmt.Fprintf(w, "<Error><Code>SignatureDoesNotMatch</Code><Message>no: %v</Message></Error>", r.Header)
	}))
	defer refusing.Close()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.SeedTopics(1, "t"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	brokers := map[string]string{refusing.URL: cluster.ListenAddrs()[0], nowhere: "127.0.0.1:1"}
	t.Chdir(t.TempDir())
	type attempt struct {
		where     string
		env, args []string
		prints    bool // its configuration
	}
	var attempts []attempt
	for command, secrets := range commands {
		least, known := leastArgs[command]
		if !known {
			t.Errorf("the command %s takes secrets, and this test does not know how it is run", command)
			continue
		}
		for i, some := range secretsOf(secrets) {
			for _, way := range []string{"flag", "environment", "YAML", "file"} {
				for e, end := range []string{refusing.URL, nowhere} {
					for _, last := range []string{"--print-config", "--log-level=debug", "--no-such-flag"} {
						// What waits for somebody costs time; the way in matters only to the parser.
						if last == "--no-such-flag" && i+e > 0 || last == "--log-level=debug" && way != "flag" && i+e > 0 {
							continue
						}
						env, args := givenAs(t, way, some)
						args = slices.Concat([]string{command}, least, args, companions(end, some), []string{last})
						env = append(env, "FLOWGRAPH_BROKERS="+brokers[end], "FLOWGRAPH_S3_ENDPOINT="+end, "FLOWGRAPH_MEMORY_BUDGET=64MiB")
						attempts = append(attempts, attempt{
							where: fmt.Sprintf("%s, secrets by %s, %s", command, way, last), env: env, args: args,
							prints: last == "--print-config" && i > 0 && len(some) > 0,
						})
					}
				}
			}
		}
	}
	todo := make(chan attempt, len(attempts))
	for _, a := range attempts {
		todo <- a
	}
	close(todo)
	var commandLines sync.WaitGroup
	defer commandLines.Wait()
	for range 8 { // they wait more than they work
		commandLines.Go(func() {
			for a := range todo {
				r := briefly(t, a.env, a.args...)
				shown(t, a.where, r)
				if a.prints && !strings.Contains(r, "(hidden)") {
					t.Errorf("%s does not print its configuration: %s", a.where, r)
				}
			}
		})
	}
}

const nowhere = "http://127.0.0.1:1"

// briefly runs a command, and ends it when it waits for somebody.
func briefly(t *testing.T, env []string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	var out both
	_ = cli.Main(cli.Process{Args: args, Environ: env, Stdout: &out, Stderr: &out, Stop: ctx, Kill: ctx})
	return out.String()
}

// both keeps what several write, streams or flows.
type both struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *both) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *both) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
