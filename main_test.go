package main

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// build makes the real program once for the tests of a process.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "flowgraph")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

func TestTheProcessTellsHowItEnded(t *testing.T) {
	program := build(t)
	for _, c := range []struct {
		args string
		code int
	}{
		{"--version", 0},
		{"run --help", 0},
		{"replay missing.jsonl --brokers 127.0.0.1:1", 1},
		{"", 2},
		{"run --no-such-flag", 2},
		{"replay missing.jsonl", 2},
	} {
		cmd := exec.Command(program, strings.Fields(c.args)...)
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != c.code {
			t.Errorf("flowgraph %s: exit code %d, want %d\n%s", c.args, got, c.code, out)
		}
	}

	t.Run("stopped by SIGTERM", func(t *testing.T) {
		cmd := exec.Command(program, "dev", "--dir", t.TempDir(), "--kafka-listen", "127.0.0.1:0", "--s3-listen", "127.0.0.1:0")
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		served := false
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "Stop with") {
				served = true
				if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := cmd.Wait(); err != nil || !served {
			t.Errorf("dev served: %v, ended with %v", served, err)
		}
	})
}

func TestTheSecondSignalDoesNotWaitForTheDrain(t *testing.T) {
	signals := make(chan os.Signal, 2)
	kill, killed := context.WithCancelCause(t.Context())
	stop, stopped := context.WithCancelCause(kill)
	signals <- syscall.SIGTERM
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		heed(signals, done, stopped, killed)
	}()
	<-stop.Done()
	if kill.Err() != nil {
		t.Error("the first signal killed")
	}
	signals <- syscall.SIGTERM
	<-kill.Done()
	<-ended
}

// A stack dump holds addresses, not what lies there; but it is sent to others.
func TestAStackDumpShowsASecret(t *testing.T) {
	program := build(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	cmd := exec.Command(program, "run", "--brokers", "127.0.0.1:1", "--topics", "t", "--s3-endpoint", "http://"+silent.Addr().String(),
		"--listen", "", "--memory-budget", "64MiB", "--s3-access-key", "MARKER-access", "--log-level", "debug")
	cmd.Env = append(os.Environ(), "FLOWGRAPH_S3_SECRET_KEY=MARKER-secret", "FLOWGRAPH_S3_SESSION_TOKEN=MARKER-token", "GOTRACEBACK=all")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c, err := silent.Accept() // it holds the keys now, and waits
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(out.String(), "goroutine ") {
		t.Errorf("there is no dump: %v\n%s", err, out.String())
	}
	if strings.Contains(out.String(), "MARKER") {
		t.Errorf("a secret is in\n%s", out.String())
	}
}
