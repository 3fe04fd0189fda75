package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

const (
	quiet    = time.Second            // work that ends within tells nothing
	redraws  = 200 * time.Millisecond // between two of a bar
	prints   = 10 * time.Second       // between two where there is no terminal
	rateOver = 5 * time.Second        // the rate is that of the last one or two of these
)

const (
	bytesDone   = "bytes" // the unit of what is counted in bytes
	objectsRead = "objects read"
	objectsSeen = "objects looked at"
)

// progress tells how far a long work is: a bar in a terminal's last line, a
// line now and then elsewhere. It is told to by any goroutine, and tells by
// itself that nothing moves. end must be called; it may be called again.
type progress struct {
	w      io.Writer
	bottom *bottom // nil: no terminal
	begun  time.Time
	stop   chan struct{}
	first  string // unit
	ended  sync.WaitGroup
	once   sync.Once

	mu          sync.Mutex
	unit        string // of what is counted
	since       time.Time
	next        time.Time // no sooner is a line told
	done, total int64     // a total of 0 is unknown
	told        bool
	older, mark counted // between which and now the rate is taken
}

// counted is how much was done at a time.
type counted struct {
	at   time.Time
	done int64
}

// newProgress begins to tell of work that is counted in a unit, as records.
func newProgress(w io.Writer, unit string) *progress {
	p := &progress{w: w, first: unit, begun: time.Now(), stop: make(chan struct{})}
	p.bottom, _ = w.(*bottom)
	p.begin(unit)
	p.ended.Go(p.run)
	return p
}

func (p *progress) begin(unit string) {
	p.since = time.Now()
	p.unit, p.done, p.total, p.told = unit, 0, 0, false
	p.next = p.since.Add(prints)
	p.older = counted{at: p.since}
	p.mark = p.older
}

// run tells again and again until end.
func (p *progress) run() {
	ticks := time.NewTicker(redraws)
	defer ticks.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-ticks.C:
			p.mu.Lock()
			p.tell(time.Now())
			p.mu.Unlock()
		}
	}
}

// at notes that done of total are through; a total of 0 is unknown.
func (p *progress) at(done, total int64) { p.stage(p.first, done, total) }

// stage is at for work in several parts, each counted anew in its unit.
func (p *progress) stage(unit string, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if unit != p.unit {
		p.finish()
		p.begin(unit)
	}
	p.note(done, total)
}

// more notes that n more are done, of an unknown total, as long as the work is
// in its first part.
func (p *progress) more(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unit == p.first {
		p.note(p.done+n, 0)
	}
}

func (p *progress) note(done, total int64) {
	p.done, p.total = done, total
	if now := time.Now(); now.Sub(p.mark.at) >= rateOver {
		p.older, p.mark = p.mark, counted{now, done}
	}
}

// tell draws the bar, or prints a line if it is time for one.
func (p *progress) tell(now time.Time) {
	switch {
	case now.Sub(p.since) < quiet || p.done == 0 && p.total == 0:
	case p.bottom != nil:
		p.bottom.show(p.bar(now, terminalWidth(p.bottom)))
	case !now.Before(p.next):
		p.next, p.told = now.Add(prints), true
		fmt.Fprintln(p.w, p.line(now))
	}
}

// end tells the last and takes the bar away.
func (p *progress) end() {
	p.once.Do(func() {
		close(p.stop)
		p.ended.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.finish()
	})
}

// finish leaves a last line where there is no terminal.
func (p *progress) finish() {
	took := time.Since(p.since)
	switch {
	case p.bottom != nil:
		p.bottom.show("")
	case took >= quiet && (p.done > 0 || p.told):
		of := ""
		if p.total > p.done {
			of = " of " + p.amount(p.total)
		}
		fmt.Fprintf(p.w, "%s%s%s in %s, %s\n", p.amount(p.done), of, p.what(), span(took), p.perSecond(float64(p.done)/took.Seconds()))
	}
}

// rate is how much is done a second, of late.
func (p *progress) rate(now time.Time) float64 {
	return float64(p.done-p.older.done) / max(now.Sub(p.older.at).Seconds(), 1e-3)
}

// left is how long the rest takes at this rate; "" while nobody knows.
func (p *progress) left(rate float64) string {
	if p.total <= p.done || rate <= 0 {
		return ""
	}
	return span(time.Duration(min(float64(p.total-p.done)/rate, 1e9)*float64(time.Second))) + " left"
}

// line is how it stands, in words.
func (p *progress) line(now time.Time) string {
	rate := p.rate(now)
	parts := []string{p.amount(p.done) + p.what()}
	if p.total > 0 {
		parts[0] = fmt.Sprintf("%s of %s%s (%d %%)", p.amount(p.done), p.amount(p.total), p.what(), p.percent())
	}
	parts = append(parts, p.perSecond(rate))
	if left := p.left(rate); left != "" {
		parts = append(parts, left)
	}
	return strings.Join(parts, ", ")
}

// bar is the same for a terminal of so many cells; what does not fit goes, the
// bar itself first.
func (p *progress) bar(now time.Time, width int) string {
	text := p.line(now)
	if p.total > 0 {
		if cells := min(40, width-len(text)-4); cells >= 8 {
			full := int(int64(cells) * p.percent() / 100)
			text = fmt.Sprintf("[%s%s] %s", strings.Repeat("#", full), strings.Repeat(".", cells-full), text)
		}
	}
	return text[:max(0, min(len(text), width-1))] // a full line would break
}

// percent is below 100 until all is done.
func (p *progress) percent() int64 {
	return min(100, max(0, int64(float64(p.done)/float64(p.total)*100)))
}

func (p *progress) amount(n int64) string {
	if p.unit == bytesDone {
		return approximate(n)
	}
	return fmt.Sprint(n)
}

func (p *progress) perSecond(rate float64) string {
	if p.unit == bytesDone {
		return approximate(int64(rate)) + " a second"
	}
	return fmt.Sprintf("%.0f a second", rate)
}

// what follows an amount.
func (p *progress) what() string {
	if p.unit == bytesDone {
		return ""
	}
	return " " + p.unit
}

// summary is the sentence's tail that every such work ends with.
func (p *progress) summary(records, bytes int64) string {
	took := time.Since(p.begun)
	return fmt.Sprintf("%d records, %s in %s (%.0f a second)",
		records, approximate(bytes), took.Round(time.Millisecond), float64(records)/max(took.Seconds(), 1e-9))
}
