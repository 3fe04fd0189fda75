package main

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestDemo(t *testing.T) {
	program := build(t)
	t.Run("ends with every row there once", func(t *testing.T) { t.Parallel(); demoShowsAll(t, program) })
	t.Run("leaves nothing behind when it is interrupted", func(t *testing.T) { t.Parallel(); demoIsInterrupted(t, program) })
	t.Run("does not remove a folder that is not its own", func(t *testing.T) {
		dir := t.TempDir()
		file := filepath.Join(dir, "thesis.txt")
		if err := os.WriteFile(file, []byte("years of work"), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, "demo", "--dir", dir)
		out, _ := cmd.CombinedOutput()
		if _, err := os.Stat(file); err != nil || cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("exit code %d, %v\n%s", cmd.ProcessState.ExitCode(), err, out)
		}
	})
}

func demoShowsAll(t *testing.T, program string) {
	dir := t.TempDir()
	cmd := exec.Command(program, "demo", "--dir", filepath.Join(dir, "demo"))
	// What is meant for another worker must not reach those of the demo.
	cmd.Env = append(os.Environ(), "FLOWGRAPH_S3_ROOT=elsewhere", "FLOWGRAPH_GROUP=another")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		`SIGKILL for worker 1, with \d+ of 797 records written`,
		`by-dev-rootcoord-dml_0-0: 473 records in the log, seek position 473, epoch 2`,
		`ddl +p2 +470799435324657018 +dropped +19 +\d+ +\[135, 169\)`,
		`worker 2 read [1-9]\d* persisted rows and deletes again and dropped them`,
		`the 902 rows and 224 deletes in the log is in the bucket exactly once`,
	} {
		if !regexp.MustCompile(want).Match(out) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	binlogs := 0
	err = filepath.WalkDir(filepath.Join(dir, "demo", "bucket", "a-bucket", "files", "insert_log"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			binlogs++
		}
		return err
	})
	if err != nil || binlogs == 0 {
		t.Errorf("%d binlogs where the demo said they lie (%v)", binlogs, err)
	}
}

func demoIsInterrupted(t *testing.T, program string) {
	dir := filepath.Join(t.TempDir(), "demo")
	cmd := exec.Command(program, "demo", "--dir", dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	worker := 0
	for lines := bufio.NewScanner(out); worker == 0 && lines.Scan(); {
		if _, pid, ok := strings.Cut(lines.Text(), "Worker 1 reads them: process "); ok {
			worker, _ = strconv.Atoi(strings.Trim(pid, "."))
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("ended with %v", err)
	}
	if worker == 0 || !errors.Is(syscall.Kill(worker, 0), syscall.ESRCH) {
		t.Errorf("the worker, process %d, runs on", worker)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
}
