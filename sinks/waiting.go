package sinks

import (
	"sync"
	"time"
)

// A wait that goes on with the same reason is logged again after logFirst, and
// then after twice as long each time, up to logLast.
const (
	logFirst = 30 * time.Second
	logLast  = 10 * time.Minute
)

// Waiting is the state of the calls that wait for the store; Calls is 0 while
// it answers.
type Waiting struct {
	Store  string // endpoint and bucket
	Calls  int
	Since  time.Time // of the longest wait
	Reason string    // the store's last answer, or why there was none
	Code   string    // its short name: the store's own, "unreachable" or "timeout"
}

// waiter is one call that waits.
type waiter struct{ since time.Time }

type waits struct {
	mu     sync.Mutex
	store  string
	calls  map[*waiter]struct{}
	reason string
	last   string // code of the reason
	logged time.Time
	pause  time.Duration // until the reason is logged again
	code   string        // of the last logged reason
	told   bool          // a line says that calls wait, and none yet that they go on
}

func (w *waits) state() Waiting {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stateLocked()
}

func (w *waits) stateLocked() Waiting {
	s := Waiting{Store: w.store, Calls: len(w.calls)}
	for c := range w.calls {
		if s.Since.IsZero() || c.since.Before(s.Since) {
			s.Since = c.since
		}
	}
	if s.Calls > 0 {
		s.Reason, s.Code = w.reason, w.last
	}
	return s
}

// await notes that a call waits because of err; it returns the call's waiter,
// to be given back with the next one and to resume.
func (b *Bucket) await(w *waiter, t *task, err error) *waiter {
	now := time.Now()
	b.waits.mu.Lock()
	defer b.waits.mu.Unlock()
	b.waits.reason, b.waits.last = err.Error(), code(err)
	if w == nil {
		w = &waiter{since: now}
		b.waits.calls[w] = struct{}{}
		b.tellWaiting()
	}
	// One line for all calls: a store that is down for hours, or stumbles all
	// the time, must not fill the log; a new reason must show at once.
	// A call that gives up ends with an error that says more.
	if t.waits == forever && (code(err) != b.waits.code || now.Sub(b.waits.logged) >= b.waits.pause) {
		b.waits.pause = min(2*b.waits.pause, logLast)
		if code(err) != b.waits.code || !b.waits.told {
			b.waits.pause = logFirst
		}
		b.waits.code, b.waits.logged, b.waits.told = code(err), now, true
		b.log.Warn().Err(err).Str("op", t.op).Str("key", t.key).Int("waiting", len(b.waits.calls)).
			Time("since", w.since).Str("advice", Advice(code(err))).Msg("the object store does not take or give; trying again")
	}
	return w
}

// resume notes that a call ended, with or without success.
func (b *Bucket) resume(w *waiter) {
	if w == nil {
		return
	}
	b.waits.mu.Lock()
	defer b.waits.mu.Unlock()
	delete(b.waits.calls, w)
	if len(b.waits.calls) == 0 && b.waits.told {
		b.waits.told, b.waits.pause = false, logFirst
		b.log.Info().Dur("waited", time.Since(w.since)).Msg("no call waits for the object store any more")
	}
	b.tellWaiting()
}

// tellWaiting is called with the lock held, so that the hook sees the states
// in their order.
func (b *Bucket) tellWaiting() {
	if b.hooks.Waiting != nil {
		b.hooks.Waiting(b.waits.stateLocked())
	}
}
