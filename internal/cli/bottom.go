package cli

import (
	"io"
	"os"
	"sync"

	"github.com/mattn/go-isatty"
	"golang.org/x/term"
)

// bottom is a terminal in whose last line a bar may stand. What is written
// meanwhile, by the log say, comes above it.
type bottom struct {
	file *os.File

	mu    sync.Mutex
	shown string
}

const erase = "\r\x1b[K"

// withBottom gives a terminal a last line; anything else stays as it is.
func withBottom(w io.Writer) io.Writer {
	if f, ok := w.(*os.File); ok && isTerminal(f) {
		return &bottom{file: f}
	}
	return w
}

// Write writes lines above the bar.
func (b *bottom) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shown == "" {
		return b.file.Write(text)
	}
	n, err := b.file.Write(append([]byte(erase), text...))
	if len(text) > 0 && text[len(text)-1] == '\n' {
		_, _ = b.file.WriteString(b.shown) // drawn again in a moment anyway
	}
	return max(0, n-len(erase)), err
}

// show puts a text into the last line; "" takes it away. What a terminal that
// has gone answers is of no interest: the work goes on.
func (b *bottom) show(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shown != "" || text != "" {
		_, _ = b.file.WriteString(erase + text)
	}
	b.shown = text
}

// Fd says that this is a terminal, to who asks.
func (b *bottom) Fd() uintptr { return b.file.Fd() }

func isTerminal(w io.Writer) bool {
	f, ok := w.(interface{ Fd() uintptr })
	return ok && isatty.IsTerminal(f.Fd())
}

// terminalWidth is in cells; 0 for what is no terminal.
func terminalWidth(w io.Writer) int {
	f, ok := w.(interface{ Fd() uintptr })
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// beside is where progress goes while a command writes lines to its output:
// nowhere if they come to the same terminal.
func (p *Process) beside(lines bool) io.Writer {
	if lines && isTerminal(p.Stdout) {
		return io.Discard
	}
	return p.Stderr
}
