package checkpoints

import (
	"sync"
	"time"
)

const (
	paceRate   = 100_000 // bytes of documents a second that are always allowed
	paceShare  = 100     // documents may cost one byte in so many flushed
	paceWindow = time.Minute
)

// Pace limits what documents cost a worker: one byte in a hundred flushed or
// 100 KB/s, whichever is more. One Pace serves all vchannels of a worker.
type Pace struct {
	mu      sync.Mutex
	start   time.Time // of the window
	flushed int64     // bytes of data in this window
	spent   int64     // bytes of documents, with the debt of the window before
}

// NewPace returns a pace whose first document is free.
func NewPace() *Pace { return &Pace{start: time.Now()} }

// Flushed tells of bytes of data made durable.
func (p *Pace) Flushed(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn(time.Now())
	p.flushed += bytes
}

// Spend charges a document.
func (p *Pace) Spend(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn(time.Now())
	p.spent += bytes
}

// Delay is how long the next document has to wait until the ones before are
// paid for, as far as is known now.
func (p *Pace) Delay() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.turn(now)
	if p.spent <= p.earned(now) {
		return 0
	}
	paid := time.Duration(float64(p.spent) / paceRate * float64(time.Second))
	return max(0, paid-now.Sub(p.start))
}

func (p *Pace) earned(now time.Time) int64 {
	return max(int64(now.Sub(p.start).Seconds()*paceRate), p.flushed/paceShare)
}

// turn begins a new window after a minute, or once everything is paid for:
// a debt is carried over, unused credit is not.
func (p *Pace) turn(now time.Time) {
	earned := p.earned(now)
	if now.Sub(p.start) < paceWindow && p.spent > earned {
		return
	}
	if now.Sub(p.start) < time.Second {
		return // the window is too short to say which share is more
	}
	p.start, p.flushed, p.spent = now, 0, max(0, p.spent-earned)
}
