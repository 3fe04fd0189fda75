//go:build unix

package proctest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// limit is how long something may take that should happen soon. It only
// decides when a test gives up.
const limit = 90 * time.Second

// child is a process that this one has started; it does not outlive its test.
type child struct {
	t    *testing.T
	name string
	cmd  *exec.Cmd
	log  string // file with its output
	done chan struct{}
	code int // exit code, -1 after a signal; read it once done is closed
}

// spawn starts a process whose output is appended to a file named after it.
// Its environment is bare: settings of the surroundings must not reach it.
func spawn(t *testing.T, dir, name, path string, args ...string) *child {
	t.Helper()
	c := &child{t: t, name: name, log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	out, err := os.OpenFile(c.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c.cmd = exec.Command(path, args...)
	c.cmd.Stdout, c.cmd.Stderr, c.cmd.Dir = out, out, dir
	c.cmd.SysProcAttr = attributes()
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "XDG_CACHE_HOME", "JAVA_HOME", "GOMODCACHE", "GOPATH", "GOPROXY", "GOCACHE"} {
		if v, ok := os.LookupEnv(name); ok {
			c.cmd.Env = append(c.cmd.Env, name+"="+v)
		}
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	go func() { // ends with the process, which the cleanup ends
		err := c.cmd.Wait()
		var exit *exec.ExitError
		if c.code = c.cmd.ProcessState.ExitCode(); err != nil && !errors.As(err, &exit) {
			c.code = -1
		}
		close(c.done)
	}()
	t.Cleanup(func() {
		c.signal(syscall.SIGKILL)
		<-c.done
	})
	return c
}

// signal sends a signal unless the process has ended.
func (c *child) signal(s syscall.Signal) {
	select {
	case <-c.done:
	default:
		c.cmd.Process.Signal(s)
	}
}

func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// kill ends the process with SIGKILL and waits until it is gone.
func (c *child) kill() {
	c.signal(syscall.SIGKILL)
	<-c.done
}

// killAfter lets the process live for so long; it must not end by itself.
func (c *child) killAfter(d time.Duration) {
	c.t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		c.kill()
	case <-c.done:
		c.t.Fatalf("%s ended by itself with exit code %d:\n%s", c.name, c.code, c.tail(25))
	}
}

// exit waits for the process' own end and returns its exit code.
func (c *child) exit() int {
	c.t.Helper()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
		c.t.Fatalf("%s does not end:\n%s", c.name, c.tail(25))
	}
	return c.code
}

// exits is exit with a code that is expected.
func (c *child) exits(code int) {
	c.t.Helper()
	if got := c.exit(); got != code {
		c.t.Fatalf("%s ended with exit code %d, want %d:\n%s", c.name, got, code, c.tail(25))
	}
}

// logged says whether the output holds a text.
func (c *child) logged(text string) bool {
	b, err := os.ReadFile(c.log)
	return err == nil && bytes.Contains(b, []byte(text))
}

func (c *child) tail(lines int) string {
	b, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// await waits until something is so; what says what, for the failure.
func await(t *testing.T, what func() string, so func() bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for !so() {
		if time.Now().After(deadline) {
			t.Fatalf("given up after %s: %s", limit, what())
		}
		pause(20 * time.Millisecond)
	}
}

func pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

func saying(format string, args ...any) func() string {
	return func() string { return fmt.Sprintf(format, args...) }
}
