package flows

import (
	"sync"
	"time"
)

// stopwatch adds up how long a state lasted, the time that it lasts already
// included.
type stopwatch struct {
	mu    sync.Mutex
	total time.Duration
	since time.Time // zero while the state is off
}

// set turns the state on or off.
func (s *stopwatch) set(on bool, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case on && s.since.IsZero():
		s.since = now
	case !on && !s.since.IsZero():
		s.total += now.Sub(s.since)
		s.since = time.Time{}
	}
}

// read returns the sum, and since when the state is on; zero if it is off.
func (s *stopwatch) read(now time.Time) (total time.Duration, since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() {
		return s.total, s.since
	}
	return s.total + now.Sub(s.since), s.since
}
