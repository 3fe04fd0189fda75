package checkpoints

import (
	"context"
	"maps"
	"time"
)

// need is how much an uncommitted change wants to be stored.
type need int

const (
	clean   need = iota
	leaving      // entries that have objects of their own now
	moving       // positions, segments met
	flushed      // rows persisted, segments sealed, events
	urgent
)

// maxDoublings of the interval between commits that only move the position.
const maxDoublings = 8

func needOf(c Change) need {
	switch {
	case c.Urgent:
		return urgent
	case c.Flush != nil || c.Event != nil:
		return flushed
	}
	return moving
}

// commitLoop commits whenever a change is due: the first after a quiet time
// at once, the following ones at a rate.
func (t *Tracker) commitLoop(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-t.wake:
		case <-timer.C:
		}
		wait, dirty, err := t.due()
		switch {
		case err != nil:
			return err
		case !dirty:
			timer.Stop()
		case wait > 0:
			timer.Reset(wait)
		default:
			if err := t.commit(ctx); err != nil {
				return err
			}
			timer.Reset(0) // changes may have been released meanwhile
		}
	}
}

// due is how long the uncommitted change, if there is one, has to wait.
func (t *Tracker) due() (wait time.Duration, dirty bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed != nil || t.need == clean {
		return 0, false, t.failed
	}
	now := time.Now()
	latest := t.since.Add(t.opts.MaxWait)
	switch t.need {
	case urgent:
		return 0, true, nil
	case leaving:
		return latest.Sub(now), true, nil
	}
	interval := t.opts.MinInterval
	if t.need == moving {
		// A vchannel that gets nothing but time ticks would cost as many
		// documents as one that gets rows: it is stored ever more rarely, down
		// to once in MaxWait.
		interval = min(t.opts.PositionInterval<<min(t.moves, maxDoublings), max(t.opts.PositionInterval, t.opts.MaxWait))
	}
	at := now.Add(t.pace.Delay())
	if !t.lastAt.IsZero() && at.Before(t.lastAt.Add(interval)) {
		at = t.lastAt.Add(interval)
	}
	if at.After(latest) {
		at = latest
	}
	return at.Sub(now), true, nil
}

// commit stores what is released, if it is not stored yet. One commit is in
// flight at a time; what is released meanwhile goes with the next.
func (t *Tracker) commit(ctx context.Context) error {
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-t.turn }()
	d, need, err := t.snapshot()
	if err != nil || need == clean {
		return err
	}
	d, size, err := t.send(ctx, d)
	return t.finish(ctx, d, size, need, err)
}

// snapshot takes the released document. The lock is not held during I/O.
func (t *Tracker) snapshot() (*Document, need, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.need
	if t.failed != nil || n == clean {
		return nil, n, t.failed
	}
	d := *t.doc
	d.Collections, d.Segments = maps.Clone(d.Collections), maps.Clone(d.Segments)
	t.need, t.flight, t.sent = clean, time.Now(), t.next
	return &d, n, nil
}

// send folds the document if it is too large, and stores it.
func (t *Tracker) send(ctx context.Context, d *Document) (*Document, int64, error) {
	if err := t.fold(ctx, d); err != nil {
		return d, 0, err
	}
	size, err := t.store.Commit(ctx, d)
	return d, size, err
}

// finish notes the outcome of a commit.
func (t *Tracker) finish(ctx context.Context, d *Document, size int64, n need, err error) error {
	t.mu.Lock()
	began := t.flight
	t.flight = time.Time{}
	if err != nil {
		t.need = max(t.need, n) // unknown or not stored: Flush tries again
		t.mu.Unlock()
		return t.giveUp(ctx, err)
	}
	t.stored, t.kept, t.lastAt = d, t.sent, time.Now()
	switch n {
	case moving:
		t.moves++
	case flushed:
		t.moves = 0
	}
	t.last = Commit{Seek: d.Seek, ReadFrom: d.ReadFrom, Sequence: t.store.sequence, Bytes: size, Took: t.lastAt.Sub(began)}
	done := t.last
	t.mu.Unlock()
	t.pace.Spend(size)
	signal(t.settled)
	if t.opts.Committed != nil {
		t.opts.Committed(done)
	}
	return nil
}
