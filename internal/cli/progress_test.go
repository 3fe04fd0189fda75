package cli_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"flowgraph/internal/cli"
)

// slowly replays a recording so that it takes some seconds.
func slowly(t *testing.T, out, errs io.Writer) {
	t.Helper()
	address := broker(t)
	path := repository(t, "testdata/recordings/all_types/records.jsonl.gz")
	err := cli.Main(cli.Process{
		Args:   []string{"replay", path, "--brokers", address, "--rate", "100"},
		Stdout: out, Stderr: errs, Stop: t.Context(), Kill: t.Context(),
	})
	if err != nil {
		t.Error(err)
	}
}

func TestOnATerminalProgressIsOneLineThatFits(t *testing.T) {
	control, terminal, err := pty.Open()
	if err != nil {
		t.Skip(err)
	}
	defer control.Close()
	const width = 80
	if err := pty.Setsize(control, &pty.Winsize{Rows: 24, Cols: width}); err != nil {
		t.Fatal(err)
	}
	shown := make(chan []byte)
	go func() {
		text, err := io.ReadAll(control)
		if err != nil && !errors.Is(err, syscall.EIO) { // it says so when the other end is closed
			t.Error(err)
		}
		shown <- text
	}()
	var out bytes.Buffer
	slowly(t, &out, terminal)
	if err := terminal.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		t.Error(err)
	}
	text := string(<-shown)
	if strings.Contains(text, "\n") || !strings.HasSuffix(text, "\r\x1b[K") {
		t.Errorf("more than one line, or it stays: %q", text)
	}
	if !regexp.MustCompile(`\[#+\.+\] \d+ of 261 records \(\d+ %\), \d+ a second, [\d.]+ s left`).MatchString(text) {
		t.Errorf("no bar with rate and time left: %q", text)
	}
	for frame := range strings.SplitSeq(text, "\r\x1b[K") {
		if len(frame) >= width {
			t.Errorf("%d cells: %q", len(frame), frame)
		}
	}
	if strings.Count(out.String(), "\n") != 1 || strings.Contains(out.String(), "\r") {
		t.Errorf("the output is %q", &out)
	}
}

func TestElsewhereProgressIsPlainLinesBesideTheOutput(t *testing.T) {
	var out, errs bytes.Buffer
	slowly(t, &out, &errs)
	if !regexp.MustCompile(`^261 records in [\d.]+ m?[is]n?, \d+ a second\n$`).MatchString(errs.String()) {
		t.Errorf("told: %q", &errs)
	}
	if strings.Count(out.String(), "\n") != 1 {
		t.Errorf("the output is %q", &out)
	}
}

// repository is a file of the repository, from this package's folder.
func repository(t *testing.T, path string) string {
	t.Helper()
	path = "../../" + path
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return path
}
