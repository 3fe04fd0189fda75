package sinks

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"flowgraph/checkpoints"
)

// forever is the number of tries of a call that only its context ends.
const forever = -1

// task is one call on the bucket and its patience. A call belongs to one
// goroutine.
type task struct {
	op, key  string
	refusals int // how often a refusal is tried again
	waits    int // how often trouble that passes is tried again
	slow     int // requests of this call that ran out of time
}

// retry is the one retry loop: it calls attempt until it works, trying again
// cannot help, the task's patience or the context ends. The error then names
// the call and carries the store's own words.
func retry[T any](ctx context.Context, b *Bucket, t *task, attempt func(context.Context) (T, error)) (T, error) {
	var none T
	var w *waiter
	defer func() { b.resume(w) }()
	for tries, refused := 0, 0; ; tries++ {
		v, err := attempt(ctx)
		if err == nil {
			return v, nil
		}
		if ctx.Err() != nil {
			return none, t.ended(ctx, err)
		}
		pause := b.cfg.BackoffWait
		switch judge(err) {
		case final:
			return none, fmt.Errorf("%s %s: %w", t.op, t.key, err)
		case refuse:
			if refused++; t.refusals != forever && refused > t.refusals {
				return none, fmt.Errorf("%s %s: %w (%s): %w", t.op, t.key, checkpoints.ErrRefused, times(tries+1), err)
			}
			pause = b.cfg.BackoffRefusal
		case wait:
			if refused = 0; t.waits != forever && tries >= t.waits {
				return none, fmt.Errorf("%s %s: %s: %w", t.op, t.key, times(tries+1), err)
			}
		}
		b.renewKeys(err)
		w = b.await(w, t, err)
		if b.hooks.Retry != nil {
			b.hooks.Retry(t.op, outcome(err))
		}
		if !sleep(ctx, backoff(b.cfg.BackoffFirst, pause, tries)) {
			return none, t.ended(ctx, err)
		}
	}
}

func times(tries int) string {
	if tries == 1 {
		return "1 try"
	}
	return fmt.Sprintf("%d tries", tries)
}

// ended is the error of a call whose context ended: why it ended, and what the
// store last said.
func (t *task) ended(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if errors.Is(err, cause) || errors.Is(err, ctx.Err()) {
		return fmt.Errorf("%s %s: %w", t.op, t.key, cause)
	}
	return fmt.Errorf("%s %s: %w; the store's last answer: %w", t.op, t.key, cause, err)
}

// renewKeys makes the next request read the keys again if they were refused.
func (b *Bucket) renewKeys(err error) {
	var a *answer
	if errors.As(err, &a) && denied(a.code) {
		b.creds.Expire()
	}
}

// backoff is the pause after the given number of tries before: first, doubled
// each time up to limit, less up to half of it by chance so that many callers
// do not come back together.
func backoff(first, limit time.Duration, tries int) time.Duration {
	d := limit
	if tries < 30 && first<<tries < limit {
		d = first << tries
	}
	return d - time.Duration(rand.Int64N(int64(d)/2+1))
}

// sleep waits, and says whether it was not ended by the context.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
