package cli_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"flowgraph/internal/cli"
	"flowgraph/internal/devstack"
)

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
			if strings.HasPrefix(to, "profile") || strings.HasPrefix(to, "trace") { // for 30 s, and known
				continue
			}
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
