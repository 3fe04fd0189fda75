package sinks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/minio/minio-go/v7"

	"flowgraph/checkpoints"
)

// answer is a store's refusal in its own words.
type answer struct {
	code    string
	message string
	status  int // HTTP; 0 if it was no reply
}

func (a *answer) Error() string {
	if a.status == 0 {
		return fmt.Sprintf("%s: %s", a.code, a.message)
	}
	return fmt.Sprintf("%d %s: %s", a.status, a.code, a.message)
}

// errSlow ends a request that took longer than its size allows.
var errSlow = errors.New("no answer in time")

// exchange makes one request: with a deadline, seen by the hooks, and with the
// library's errors turned into ours.
func (b *Bucket) exchange(ctx context.Context, t *task, op string, size int64, do func(context.Context, *deadline) (int64, error)) error {
	rctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d := newDeadline(b.cfg, t.slow, size, cancel)
	defer d.stop()
	start := time.Now()
	n, err := do(rctx, d)
	took := time.Since(start)
	if err != nil {
		if errors.Is(context.Cause(rctx), errSlow) {
			t.slow++
			err = fmt.Errorf("%w (%s)", errSlow, d.limit)
		}
		err = b.translate(err)
	}
	if b.hooks.Request != nil {
		b.hooks.Request(op, n, took, outcome(err))
	}
	return err
}

// translate turns the library's error into answer, or ErrNotExist.
func (b *Bucket) translate(err error) error {
	var r minio.ErrorResponse
	if !errors.As(err, &r) {
		return err
	}
	a := &answer{code: b.without(r.Code), message: b.without(r.Message), status: r.StatusCode}
	if r.Code == minio.NoSuchKey || r.Code == "NoSuchVersion" {
		return fmt.Errorf("%w: %w", checkpoints.ErrNotExist, a)
	}
	return a
}

// deadline cancels a request that outlasts its limit. The limit may grow while
// the request runs, when its size becomes known.
type deadline struct {
	start  time.Time
	limit  time.Duration
	rate   int64
	factor time.Duration
	timer  *time.Timer
}

// newDeadline doubles the limit with each request of the same call that ran
// out of time, or a slow line could never finish a large one.
func newDeadline(cfg BucketConfig, slow int, size int64, cancel context.CancelCauseFunc) *deadline {
	d := &deadline{start: time.Now(), rate: cfg.AttemptRate, factor: 1 << min(slow, 6)}
	d.limit = d.factor * (cfg.AttemptTimeout + d.spell(size))
	d.timer = time.AfterFunc(d.limit, func() { cancel(errSlow) })
	return d
}

func (d *deadline) spell(size int64) time.Duration {
	return time.Duration(float64(max(size, 0)) / float64(d.rate) * float64(time.Second))
}

func (d *deadline) grow(size int64) {
	d.limit += d.factor * d.spell(size)
	if d.timer.Stop() {
		d.timer.Reset(d.limit - time.Since(d.start))
	}
}

func (d *deadline) stop() { d.timer.Stop() }
