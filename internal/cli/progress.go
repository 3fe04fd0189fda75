package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// progress tells how far a long work is: a bar that is redrawn on a terminal,
// a line now and then elsewhere. It is used by one goroutine.
type progress struct {
	w        io.Writer
	terminal bool
	begun    time.Time
	next     time.Time // no sooner is anything told
	drawn    bool
	what     string // is counted
}

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, terminal: isTerminal(w), begun: time.Now(), what: "records"}
	p.next = p.begun.Add(p.every())
	return p
}

func (p *progress) every() time.Duration {
	if p.terminal {
		return 200 * time.Millisecond
	}
	return 10 * time.Second
}

// at tells that done of total are through; a total of 0 is unknown.
func (p *progress) at(done, total int64) {
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(p.every())
	fmt.Fprint(p.w, p.text(done, total, now.Sub(p.begun)))
	p.drawn = true
}

func (p *progress) text(done, total int64, took time.Duration) string {
	if total == 0 {
		text := fmt.Sprintf("%d %s, %.0f a second", done, p.what, float64(done)/max(took.Seconds(), 1e-9))
		if p.terminal {
			return "\r" + text + " \x1b[K"
		}
		return text + "\n"
	}
	share := float64(done) / float64(total)
	rate := float64(done) / max(took.Seconds(), 1e-9)
	if !p.terminal {
		return fmt.Sprintf("%d of %d %s, %.0f a second\n", done, total, p.what, rate)
	}
	const width = 30
	full := int(share * width)
	return fmt.Sprintf("\r[%s%s] %3.0f %%  %d of %d %s, %.0f a second \x1b[K",
		strings.Repeat("#", full), strings.Repeat(".", width-full), share*100, done, total, p.what, rate)
}

// end takes the bar away, so that what follows stands on a clean line.
func (p *progress) end() {
	if p.terminal && p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// summary is the sentence's tail that every such work ends with.
func (p *progress) summary(records, bytes int64) string {
	took := time.Since(p.begun)
	return fmt.Sprintf("%d records, %s in %s (%.0f a second)",
		records, approximate(bytes), took.Round(time.Millisecond), float64(records)/max(took.Seconds(), 1e-9))
}

// approximate writes a number of bytes for people.
func approximate(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}
