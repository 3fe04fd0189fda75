package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
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
	"flowgraph/internal/devstack"
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
// addresses, or refuses.
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
	"config":      {},
	"top":         {},
	"flush":       {"--all"},
	"seal":        {"--all"},
	"pause":       {"--all"},
	"resume":      {"--all"},
	"log-level":   {},
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

// given hands secrets over in one of the four ways.
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
						r := briefly(t, env, args...)
						shown(t, fmt.Sprintf("%s, secrets by %s, %s", command, way, last), r)
						if last == "--print-config" && i > 0 && len(some) > 0 && !strings.Contains(r, "(hidden)") {
							t.Errorf("%s does not print its configuration: %s", command, r)
						}
					}
				}
			}
		}
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

// both keeps what two streams are written.
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

// A worker that works shows its secrets on none of its pages, in no metric, no
// profile and no line of its log.
func TestASecretIsShownByAWorkerThatWorks(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.Superuser("PLAIN", "u", marker("kafka-password")),
		kfake.SeedTopics(1, "t"), kfake.GroupMinSessionTimeout(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	store, err := devstack.StartBucket(t.Context(), devstack.BucketConfig{
		Dir: t.TempDir(), AccessKey: marker("s3-access-key"), SecretKey: marker("s3-secret-key"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	env, args := givenAs(t, "flag", []string{"kafka-password", "s3-access-key", "s3-secret-key"})
	args = slices.Concat([]string{"run", "--topics", "t", "--brokers", cluster.ListenAddrs()[0], "--s3-endpoint", store.Endpoint(),
		"--listen", "127.0.0.1:0", "--memory-budget", "64MiB", "--log-level", "debug"}, args, companions("", []string{"kafka-password"}))
	stop, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out both
	ended := make(chan error, 1)
	go func() {
		ended <- cli.Main(cli.Process{Args: args, Environ: env, Stdout: &out, Stderr: &out, Stop: stop, Kill: t.Context()})
	}()
	address := regexp.MustCompile(`"address":"([^"]+)"`)
	until(t, "the worker is ready", func() bool {
		m := address.FindStringSubmatch(out.String())
		return m != nil && get(t, "http://"+m[1]+"/readyz", io.Discard) == http.StatusOK
	})
	base := "http://" + address.FindStringSubmatch(out.String())[1]
	for _, path := range served(t, base) {
		var page bytes.Buffer
		code := get(t, base+path, &page)
		shown(t, path, page.String())
		if path == "/debug/pprof/cmdline" && code == http.StatusOK {
			t.Error("the command line can be read, with the secrets in it")
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the worker ended with %v\n%s", err, out.String())
	}
	shown(t, "the log", out.String())
}

// served are all addresses of a worker: those that it is known for, and
// whatever its pages lead to.
func served(t *testing.T, base string) []string {
	t.Helper()
	paths := []string{
		"/", "/metrics", "/healthz", "/readyz", "/api/worker", "/api/vchannels", "/api/segments", "/api/events", "/config", "/api/config",
		"/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/symbol", "/debug/vars",
		"/debug/pprof/goroutine?debug=2", "/debug/pprof/heap?debug=1", "/debug/pprof/allocs?debug=1", "/debug/pprof/profile?seconds=1", "/debug/pprof/trace?seconds=0.1",
	}
	link := regexp.MustCompile(`(?:href|src)=["']?([^"' >]+)|["'](/api/[^"'${}]+|api/[^"'${}]+)["'${]`)
	for i := 0; i < len(paths) && len(paths) < 200; i++ {
		if strings.HasPrefix(paths[i], "/debug/") && paths[i] != "/debug/pprof/" {
			continue
		}
		var page bytes.Buffer
		get(t, base+paths[i], &page)
		for _, m := range link.FindAllStringSubmatch(page.String(), -1) {
			to := m[1] + m[2]
			if strings.Contains(to, "//") || strings.HasPrefix(to, "#") || strings.HasPrefix(to, "data:") {
				continue
			}
			if !strings.HasPrefix(to, "/") {
				to = paths[i][:strings.LastIndex(paths[i], "/")+1] + to
			}
			if !slices.Contains(paths, to) {
				paths = append(paths, to)
			}
		}
	}
	return paths
}

func get(t *testing.T, url string, w io.Writer) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer r.Body.Close()
	if _, err := io.Copy(w, r.Body); err != nil {
		t.Errorf("%s: %v", url, err)
	}
	return r.StatusCode
}

// until polls a condition: real sockets know no other way.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for ticker := time.NewTicker(10 * time.Millisecond); !done(); {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain until %s", what)
		case <-ticker.C:
		}
	}
}
