package flows

import (
	"sync"
	"time"
)

// eventWindow counts events and says when there were too many in a window.
type eventWindow struct {
	mu      sync.Mutex
	allowed int
	span    time.Duration
	times   []time.Time
}

// tooMany notes one event.
func (w *eventWindow) tooMany(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := w.times[:0]
	for _, t := range w.times {
		if now.Sub(t) < w.span {
			kept = append(kept, t)
		}
	}
	w.times = append(kept, now)
	return len(w.times) > w.allowed
}
