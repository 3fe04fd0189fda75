package checkpoints

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Options are a tracker's intervals and limits; see DefaultOptions.
type Options struct {
	MinInterval      time.Duration // between commits with flushes or events
	PositionInterval time.Duration // between commits that only move the position, at first
	MaxWait          time.Duration // for a change, whatever documents cost
	FoldAbove        int           // document size in bytes from which log entries are folded into chunks
	Compound         Compound      // nil: no segment has key statistics
	// Committed is called after each commit, from the goroutine that made it.
	Committed func(Commit)
}

// Commit is what a stored document says about positions.
type Commit struct {
	Seek, ReadFrom Position
	Sequence       int64
	Bytes          int64 // of the document
	Took           time.Duration
}

// DefaultOptions returns what a worker uses.
func DefaultOptions() Options {
	return Options{
		MinInterval:      200 * time.Millisecond,
		PositionInterval: 10 * time.Second,
		MaxWait:          60 * time.Second,
		FoldAbove:        1 << 20,
	}
}

// Tracker turns acknowledgments into commits: changes enter the document in
// cut order, whatever the order of their acks, so that no position passes an
// unfinished flush; what a committed document shows as final moves to objects
// of its own. All methods are safe for concurrent use; nothing runs but what
// its callers run.
type Tracker struct {
	store *Store
	names *Names
	pace  *Pace
	opts  Options

	wake    chan struct{} // to Run: a change was released, or the tracker failed
	settled chan struct{} // to the settler: a commit was made
	turn    chan struct{} // held by the one commit in flight

	mu      sync.Mutex
	doc     *Document         // released changes; its segments are never changed in place
	stored  *Document         // the last one committed
	waiting map[uint64]Change // acked, not released: a cut before is unfinished
	next    uint64            // sequence to release next
	sent    uint64            // the same, as of the document of the commit in flight
	kept    uint64            // the same, as of the last one committed
	need    need
	since   time.Time // release of the oldest uncommitted change
	last    Commit
	lastAt  time.Time
	moves   int       // commits in a row that only moved the position
	flight  time.Time // start of the commit in flight
	failed  error
}

// NewTracker continues from the document that a claim returned.
func NewTracker(store *Store, doc *Document, pace *Pace, opts Options) *Tracker {
	own := *doc
	own.Collections, own.Segments = maps.Clone(doc.Collections), maps.Clone(doc.Segments)
	own.Events = slices.Clip(doc.Events)
	return &Tracker{
		store: store, names: store.Names(), pace: pace, opts: opts,
		wake: make(chan struct{}, 1), settled: make(chan struct{}, 1), turn: make(chan struct{}, 1),
		doc: &own, stored: doc, waiting: map[uint64]Change{}, next: 1, kept: 1,
		last: Commit{Seek: doc.Seek, ReadFrom: doc.ReadFrom},
	}
}

// Ack hands over the change of the cut with this sequence (1, 2, 3, ...) once
// everything that it refers to is stored. The tracker owns the change then. A
// change that contradicts the document ends Run with ErrChange.
func (t *Tracker) Ack(seq uint64, c Change) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed != nil {
		return
	}
	if _, twice := t.waiting[seq]; twice || seq < t.next {
		t.fail(fmt.Errorf("cut %d of %s acknowledged twice: %w", seq, t.doc.VChannel, ErrChange))
		return
	}
	t.waiting[seq] = c
	for {
		c, ok := t.waiting[t.next]
		if !ok {
			return
		}
		delete(t.waiting, t.next)
		if err := t.release(c); err != nil {
			t.fail(fmt.Errorf("cut %d of %s: %w", t.next, t.doc.VChannel, err))
			return
		}
		t.next++
	}
}

// release lets one change enter the document.
func (t *Tracker) release(c Change) error {
	seek, readFrom, segments := t.doc.Seek, t.doc.ReadFrom, len(t.doc.Segments)
	if err := t.doc.Apply(c); err != nil {
		return err
	}
	if c.Flush != nil && c.Flush.Log != nil {
		t.pace.Flushed(c.Flush.Log.Bytes)
	}
	// While buffered rows hold the position, nearly every cut changes nothing.
	// There is nothing to store then, but an urgent one wants what is not yet.
	changed := c.Flush != nil || c.Event != nil || seek != t.doc.Seek || readFrom != t.doc.ReadFrom || segments != len(t.doc.Segments)
	if changed || c.Urgent && t.need != clean {
		t.want(needOf(c))
	}
	return nil
}

// want notes that the document changed. The lock is held.
func (t *Tracker) want(n need) {
	if t.need == clean {
		t.since = time.Now()
	}
	// The commit loop knows already when a position is due; with each flush the
	// documents may cost more.
	if n > t.need || n >= flushed {
		signal(t.wake)
	}
	t.need = max(t.need, n)
}

// fail ends the tracker: nothing more is written. The lock is held.
func (t *Tracker) fail(err error) {
	if t.failed == nil {
		t.failed = err
	}
	signal(t.wake)
}

// signal wakes a loop that looks at everything when it wakes; one signal
// waiting is enough.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Status is a snapshot for metrics and health.
type Status struct {
	Seek, ReadFrom Position  // of the last commit
	Released       Position  // seek position of the released document
	Next           uint64    // the cut that everything after it waits for
	Committed      uint64    // the cuts before it are in the stored document
	Waiting        int       // cuts acknowledged behind it
	LastCommit     time.Time // zero: none since the claim
	CommitSince    time.Time // start of the commit in flight; zero: none
	DirtySince     time.Time // release of the oldest uncommitted change; zero: none
	Segments       int       // in the released document
	DocumentBytes  int64     // of the last commit
}

// Status returns the tracker's state.
func (t *Tracker) Status() Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := Status{
		Seek: t.last.Seek, ReadFrom: t.last.ReadFrom, Released: t.doc.Seek,
		Next: t.next, Committed: t.kept, Waiting: len(t.waiting),
		LastCommit: t.lastAt, CommitSince: t.flight,
		Segments: len(t.doc.Segments), DocumentBytes: t.last.Bytes,
	}
	switch {
	case t.need != clean:
		s.DirtySince = t.since
	case t.flight.IsZero():
		s.Committed = t.next // what was released since has changed nothing
	}
	return s
}

// Run commits what is released, at the tracker's pace, until ctx ends or
// nothing may be written any more; it returns the cause. The last commit is
// Flush's.
func (t *Tracker) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var settler sync.WaitGroup
	settler.Go(func() { cancel(t.settleLoop(ctx)) })
	cancel(t.commitLoop(ctx))
	settler.Wait()
	return context.Cause(ctx)
}
