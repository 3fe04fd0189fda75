//go:build linux

package scale

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// worker is a process of the built program.
type worker struct {
	t       *testing.T
	cmd     *exec.Cmd
	address string // of its metrics
	log     string // file
	done    chan struct{}
	err     error // its end; read it once done is closed
	peak    float64
}

// start runs the program with these arguments; it does not outlive the test.
func start(t *testing.T, args ...string) *worker {
	t.Helper()
	w := &worker{t: t, log: filepath.Join(t.TempDir(), "log"), done: make(chan struct{})}
	out, err := os.Create(w.log)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	w.cmd = exec.Command(options.program, args...)
	w.cmd.Stdout, w.cmd.Stderr, w.cmd.Dir = out, out, t.TempDir()
	w.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "GODEBUG=" + os.Getenv("GODEBUG")}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { // ends with the process
		defer close(w.done)
		w.err = w.cmd.Wait()
	}()
	t.Cleanup(w.kill)
	return w
}

// run starts a worker on the world's broker and store.
func (w *world) run(args ...string) *worker {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	k := start(w.t, append(append([]string{"run", "--brokers=" + w.broker.Addr(), "--topics=" + topic, "--listen=" + address,
		"--log-format=json"}, w.s3()...), args...)...)
	k.address = address
	return k
}

func (w *world) s3() []string {
	return []string{"--s3-endpoint=" + w.store.Endpoint(), "--s3-bucket=" + bucket, "--s3-access-key=scale", "--s3-secret-key=scalescale"}
}

func (k *worker) kill() {
	select {
	case <-k.done:
	default:
		k.cmd.Process.Signal(syscall.SIGKILL)
		<-k.done
	}
}

// stop ends the process as an operator does: it flushes and commits all first.
func (k *worker) stop() {
	k.t.Helper()
	if err := k.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		k.t.Fatal(err)
	}
	k.end()
}

// end waits for the process' own end, which must be a success, and keeps its
// peak memory meanwhile.
func (k *worker) end() {
	k.t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-k.done:
			if k.err != nil {
				log, _ := os.ReadFile(k.log)
				k.t.Fatalf("%v: %v\n%s", k.cmd.Args[1:3], k.err, log)
			}
			return
		case <-ticker.C:
			k.peak = max(k.peak, k.memory("VmHWM"))
		}
	}
}

// cpu is the CPU time that it has taken so far, in seconds.
func (k *worker) cpu() float64 {
	select {
	case <-k.done:
		return (k.cmd.ProcessState.UserTime() + k.cmd.ProcessState.SystemTime()).Seconds()
	default:
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", k.cmd.Process.Pid))
	_, after, _ := bytes.Cut(stat, []byte(") "))
	fields := strings.Fields(string(after))
	if err != nil || len(fields) < 13 {
		k.t.Fatalf("stat of the process: %v", err)
	}
	var ticks float64 // 100 a second
	for _, f := range fields[11:13] {
		n, err := strconv.ParseFloat(f, 64)
		if err != nil {
			k.t.Fatal(err)
		}
		ticks += n
	}
	return ticks / 100
}

// memory is a line of its status in MB: VmRSS, or VmHWM for the peak. It is 0
// once the process is gone.
func (k *worker) memory(line string) float64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", k.cmd.Process.Pid))
	_, after, _ := bytes.Cut(status, []byte(line+":"))
	var kb float64
	fmt.Sscan(string(after), &kb)
	return kb / 1000
}

// metrics reads the worker's metrics; a name's series are added up.
func (k *worker) metrics() map[string]float64 {
	k.t.Helper()
	sums := map[string]float64{}
	for line := range strings.Lines(string(k.get("/metrics"))) {
		name, _, _ := strings.Cut(line, "{")
		name, _, _ = strings.Cut(name, " ")
		fields := strings.Fields(line)
		if v, err := strconv.ParseFloat(fields[len(fields)-1], 64); err == nil && name != "#" {
			sums[name] += v
		}
	}
	return sums
}

// get asks the worker's page or API.
func (k *worker) get(path string) []byte {
	k.t.Helper()
	resp, err := http.Get("http://" + k.address + path)
	if err != nil {
		k.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		k.t.Fatalf("%s: %s, %v: %s", path, resp.Status, err, body)
	}
	return body
}

// ready waits until the worker has claimed all its partitions.
func (k *worker) ready() {
	k.t.Helper()
	k.await("it is ready", func() bool {
		resp, err := http.Get("http://" + k.address + "/readyz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// await polls: a process knows no other way.
func (k *worker) await(what string, so func() bool) {
	k.t.Helper()
	deadline := time.Now().Add(size(0, time.Minute, 5*time.Minute)) // it only decides when a test gives up
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for !so() {
		select {
		case <-k.done:
			log, _ := os.ReadFile(k.log)
			k.t.Fatalf("the worker ended before %s: %v\n%s", what, k.err, log)
		case <-ticker.C:
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(k.log)
			k.t.Fatalf("given up before %s\n%s", what, log[max(0, len(log)-5000):])
		}
	}
}
