package cli_test

import (
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"flowgraph/internal/cli"
)

// aWorker answers as one that is well, and has not claimed everything yet.
func aWorker() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprintln(rw, "ok") })
	mux.HandleFunc("GET /readyz", func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(rw, "waiting for the first assignment")
	})
	return mux
}

// A check of health that cannot fail restarts nothing; one that always fails
// restarts everything.
func TestHealthIsWhatTheWorkerSays(t *testing.T) {
	server := httptest.NewServer(aWorker())
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, listen := range []string{"127.0.0.1:" + port, "0.0.0.0:" + port, ":" + port} {
		// The rest of the worker's environment is no hindrance.
		env := []string{"FLOWGRAPH_LISTEN=" + listen, "FLOWGRAPH_TOPICS=t", "FLOWGRAPH_S3_SECRET_KEY_FILE=/nowhere"}
		if r := flowgraph(t, env, "health"); r.code != cli.ExitDone || r.out != "ok\n" {
			t.Errorf("%s: exit code %d: %s%s", listen, r.code, r.out, r.err)
		}
		if r := flowgraph(t, env, "health", "--ready"); r.code != cli.ExitFailed || !strings.Contains(r.err, "503: waiting for the first assignment") {
			t.Errorf("%s, ready: exit code %d: %s%s", listen, r.code, r.out, r.err)
		}
	}
	server.Close()
	if r := flowgraph(t, nil, "health", "--listen", "127.0.0.1:"+port); r.code != cli.ExitFailed || !strings.Contains(r.err, "no worker answers at 127.0.0.1:"+port+": ") {
		t.Errorf("nobody there: exit code %d: %s", r.code, r.err)
	}
	hangs, err := net.Listen("tcp", "127.0.0.1:0") // the connection is made, nobody reads it
	if err != nil {
		t.Fatal(err)
	}
	defer hangs.Close()
	if r := flowgraph(t, nil, "health", "--listen", hangs.Addr().String(), "--timeout", "50ms"); r.code != cli.ExitFailed || !strings.Contains(r.err, "has not answered within 50ms") {
		t.Errorf("it hangs: exit code %d: %s", r.code, r.err)
	}
	if r := flowgraph(t, nil, "health", "--listen", ""); r.code != cli.ExitUsage {
		t.Errorf("no address: exit code %d", r.code)
	}
}

func TestHealthIsAskedByTLSWhereTheWorkerSpeaksIt(t *testing.T) {
	server := httptest.NewTLSServer(aWorker())
	defer server.Close()
	cert := filepath.Join(t.TempDir(), "cert.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(cert, block, 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"FLOWGRAPH_LISTEN=" + server.Listener.Addr().String(), "FLOWGRAPH_LISTEN_CERT_FILE=" + cert}
	if r := flowgraph(t, env, "health"); r.code != cli.ExitDone || r.out != "ok\n" {
		t.Errorf("exit code %d: %s%s", r.code, r.out, r.err)
	}
}

func TestAWorkerThatDoesNotAnswerIsIll(t *testing.T) {
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-ended:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(ended)
	r := flowgraph(t, nil, "health", "--listen", server.Listener.Addr().String(), "--timeout", "50ms")
	if r.code != cli.ExitFailed {
		t.Errorf("exit code %d: %s%s", r.code, r.out, r.err)
	}
}
