package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// worker is a child process of the same program.
type worker struct {
	name string
	cmd  *exec.Cmd
	log  *workerLog
	done chan struct{} // closed when the process has ended
	err  error         // how it ended; read only once done is closed
}

// workerLog keeps a worker's log in a file and looks for the address of its
// metrics there.
type workerLog struct {
	file    *os.File
	line    []byte
	address chan string // receives the address once
}

// startWorker starts a worker that ends with ctx at the latest. Its settings
// are flags alone: FLOWGRAPH_ variables are somebody's for another worker.
func (s *show) startWorker(ctx context.Context, name string) (*worker, error) {
	file, err := os.Create(filepath.Join(s.Dir, name+".log"))
	if err != nil {
		return nil, err
	}
	w := &worker{name: name, log: &workerLog{file: file, address: make(chan string, 1)}, done: make(chan struct{})}
	w.cmd = exec.CommandContext(ctx, s.Program, s.workerArgs()...)
	w.cmd.Stderr = w.log
	for _, e := range s.Environ {
		if !strings.HasPrefix(e, "FLOWGRAPH_") {
			w.cmd.Env = append(w.cmd.Env, e)
		}
	}
	if err := w.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", name, err), file.Close())
	}
	go func() {
		defer close(w.done)
		defer file.Close()
		w.err = w.cmd.Wait()
	}()
	return w, nil
}

// Flushes are small and segments are sealed soon, so that a short demo has many
// of both and a kill finds some rows persisted and earlier ones not.
func (s *show) workerArgs() []string {
	store := s.store.Config()
	return []string{
		"run", "--brokers", s.broker.Addr(), "--topics", s.topics(), "--session-timeout", "1s",
		"--s3-endpoint", s.store.Endpoint(), "--s3-bucket", store.Bucket, "--s3-access-key", store.AccessKey, "--s3-secret-key", store.SecretKey,
		"--memory-budget", "256MiB", "--flush-bytes", "1KiB", "--flush-delete-bytes", "1KiB", "--flush-age", "2s",
		"--idle-seal", "15s", "--successor-seal", "5s",
		"--listen", "127.0.0.1:0", "--log-format", "json",
	}
}

func (w *worker) pid() int { return w.cmd.Process.Pid }

// kill ends the process as a power cut would, and waits until it has ended.
func (w *worker) kill() error {
	if err := w.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("kill %s: %w", w.name, err)
	}
	<-w.done
	if w.cmd.ProcessState.Exited() {
		return w.ended() // by itself, before the signal
	}
	return nil
}

// drain asks the process to end and waits until it has flushed, committed and
// ended well.
func (w *worker) drain(ctx context.Context) error {
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop %s: %w", w.name, err)
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if w.err != nil {
		return w.ended()
	}
	return nil
}

// ended is the error of a worker that ended when it should not have.
func (w *worker) ended() error {
	text, err := os.ReadFile(w.log.file.Name())
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	const shown = 5
	return fmt.Errorf("%w: %s, %s; its log %s ends with:\n%s", ErrWorker, w.name, w.cmd.ProcessState,
		w.log.file.Name(), strings.Join(lines[max(0, len(lines)-shown):], "\n"))
}

// Write implements io.Writer; it is called by one goroutine.
func (l *workerLog) Write(p []byte) (int, error) {
	l.line = append(l.line, p...)
	for {
		line, rest, whole := bytes.Cut(l.line, []byte("\n"))
		if !whole {
			break
		}
		var entry struct{ Message, Address string }
		if json.Unmarshal(line, &entry) == nil && entry.Message == "metrics and health" {
			select {
			case l.address <- entry.Address:
			default:
			}
		}
		l.line = rest
	}
	return l.file.Write(p)
}
