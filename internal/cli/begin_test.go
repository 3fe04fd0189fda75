package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"flowgraph/internal/cli"
)

// starts runs a worker with a page, and returns its address and its end.
func starts(t *testing.T, out *both, environ []string, args ...string) (base string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	args = append([]string{"run", "--topics", "t:0", "--listen", "127.0.0.1:0", "--memory-budget", "64MiB"}, args...)
	go func() {
		ended <- cli.Main(cli.Process{Args: args, Environ: environ, Stdout: out, Stderr: out, Stop: ctx, Kill: t.Context()})
	}()
	address := regexp.MustCompile(`"address":"([^"]+)"`)
	until(t, "there is a page", func() bool { return address.MatchString(out.String()) })
	return "http://" + address.FindStringSubmatch(out.String())[1], func() error {
		cancel()
		return <-ended
	}
}

func TestWhatRefusesAWorkerIsNowhereToBeSeenOrNeedsARestart(t *testing.T) {
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	s, _ := store(t)
	secret := filepath.Join(t.TempDir(), "secret")
	write := func(text string) {
		if err := os.WriteFile(secret, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("not-the-secret")
	var out both
	base, stop := starts(t, &out, []string{"FLOWGRAPH_S3_SECRET_KEY_FILE=" + secret},
		"--brokers", broker.ListenAddrs()[0], "--s3-endpoint", s.Endpoint(), "--s3-access-key", "minioadmin")
	until(t, "the page tells why", func() bool {
		var body bytes.Buffer
		var answer struct {
			Worker struct {
				Error string `json:"error"`
				Phase string `json:"phase"`
			} `json:"worker"`
		}
		if get(t, base+"/api/worker", &body) != http.StatusOK || json.Unmarshal(body.Bytes(), &answer) != nil {
			return false
		}
		return answer.Worker.Phase == "starting" && strings.Contains(answer.Worker.Error, "s3-secret-key")
	})
	if get(t, base+"/readyz", io.Discard) == http.StatusOK {
		t.Error("a worker that is refused says that it is ready")
	}
	write("minioadmin")
	until(t, "the worker is ready", func() bool { return get(t, base+"/readyz", io.Discard) == http.StatusOK })
	var body bytes.Buffer
	if get(t, base+"/api/worker", &body); strings.Contains(body.String(), "s3-secret-key") {
		t.Errorf("the page still tells of what was mended: %s", body.String())
	}
	if err := stop(); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	if n := strings.Count(out.String(), "the worker cannot start"); n != 1 {
		t.Errorf("told %d times:\n%s", n, out.String())
	}
}
