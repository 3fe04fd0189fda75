package flows

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"flowgraph/checkpoints"
	"flowgraph/stages"
)

// patience says how soon a flow starts again, how often in a window is too
// often for one vchannel, and how long others are waited for.
type patience struct {
	restartFirst, restartMax time.Duration
	reclaimFirst, reclaimMax time.Duration
	window                   time.Duration
	fails, fencings          int           // allowed in the window
	revoke                   time.Duration // for draining what the group takes away
	topics                   time.Duration // between looks at the topics' IDs and their logs' ends
	progress                 time.Duration // between looks at the flows' progress
}

func defaultPatience() patience {
	return patience{
		restartFirst: 200 * time.Millisecond, restartMax: 30 * time.Second,
		reclaimFirst: time.Second, reclaimMax: 5 * time.Minute,
		window: 10 * time.Minute, fails: 20, fencings: 5,
		revoke: rebalanceTimeout * 3 / 4, topics: metadataMaxAge, progress: progressEvery,
	}
}

// partition is one Kafka partition.
type partition struct {
	topic string
	id    int32
}

// assignment is one partition for as long as this worker has it. A partition
// that comes back is a new assignment.
type assignment struct {
	partition
	ctx    context.Context // kill
	kill   context.CancelCauseFunc
	stop   context.Context // drain
	drain  context.CancelFunc
	before <-chan struct{} // nil, or done of the assignment that this one replaces
	done   chan struct{}   // closed when its last flow is closed
	status *flowStatus
	until  int64

	installed atomic.Pointer[install]          // the flow that gets the records
	topicID   atomic.Pointer[string]           // of the log that the flow reads
	committed atomic.Pointer[checkpoints.Told] // of the last commit
	told      checkpoints.Told                 // what Kafka's group was told; under Worker.commits
	stopped   atomic.Bool                      // it waits for an operator
	failure   atomic.Pointer[error]            // why the last flow ended, if it was not drained

	// The supervisor's alone. Counted per vchannel: what strikes all of them
	// once, such as a deleted topic, is not one that fails too often.
	failures, fencings eventWindow

	paused bool        // for lagging behind; the poll loop's alone
	held   atomic.Bool // by request; set by the poll loop alone
}

// supervise runs flows of one assignment, one after another, until it is
// drained, given away, or stopped for an operator.
func (w *Worker) supervise(a *assignment) {
	defer close(a.done)
	defer a.drain()
	if a.before != nil {
		<-a.before
	}
	var again backoff
	for {
		started := time.Now()
		err := w.runFlow(a)
		if w.cfg.Explain != nil {
			err = w.cfg.Explain(err)
		}
		a.installed.Store(nil)
		a.status.paused.set(false, time.Now())
		w.client.PauseFetchPartitions(map[string][]int32{a.topic: {a.id}})
		if a.ctx.Err() != nil {
			return
		}
		if err == nil {
			w.log.Info().Str("vchannel", a.status.vchannel.Name()).Msg("drained")
			a.status.become("done", nil)
			return
		}
		if !w.mayRestart(a, err, started, &again) {
			return
		}
	}
}

// mayRestart waits until the next flow may start; false: there is none.
func (w *Worker) mayRestart(a *assignment, err error, started time.Time, again *backoff) bool {
	claiming := errors.Is(err, errClaim)
	// Whoever runs until the end must not wait for a document that is denied.
	stopped := stops(err) || w.cfg.UntilEnd && claiming && errors.Is(err, checkpoints.ErrRefused)
	if stopped || !claiming && a.stop.Err() != nil {
		a.failure.Store(&err) // a drain that failed has not flushed what was buffered
	}
	if time.Since(started) > w.patience.restartMax {
		again.reset()
	}
	log := w.log.Error().Err(err).Str("vchannel", a.status.vchannel.Name())
	switch {
	case stopped:
		return w.stopped(a, err)
	case errors.Is(err, checkpoints.ErrFenced):
		log.Msg("another owner has claimed the vchannel")
		a.status.become("waiting", err)
		w.metrics.fenced.Inc()
		return w.mayReclaim(a, err, again)
	case errors.Is(err, stages.ErrNoAnswer): // another service is away, which is not the process' fault
		log.Msg("waits for the schema of a collection; tries again")
	case claiming: // nothing was claimed: an unreadable document waits, and is not the process' fault
		log.Msg("cannot be claimed; tries again")
	case errors.Is(err, errCommit) && errors.Is(err, checkpoints.ErrRefused):
		w.fail(fmt.Errorf("%s: %w", a.status.vchannel.Name(), err))
		return false
	default:
		log.Msg("failed; starts again from its checkpoint")
		if tooOften := a.failures.tooMany(time.Now()); tooOften && errors.Is(err, ErrUnreadable) {
			return w.stopped(a, err)
		} else if tooOften {
			w.fail(fmt.Errorf("%w, last %s: %w", ErrFailedTooOften, a.status.vchannel.Name(), err))
			return false
		}
	}
	a.status.become("waiting", err)
	w.metrics.restarts.Inc()
	return again.wait(a, w.patience.restartFirst, w.patience.restartMax)
}

// stopped waits until the assignment ends: somebody has to look.
func (w *Worker) stopped(a *assignment, err error) (mayRestart bool) {
	w.log.Error().Err(err).Str("vchannel", a.status.vchannel.Name()).Str("advice", Advice(err)).Msg("stopped; waits for an operator")
	a.failure.Store(&err)
	a.stopped.Store(true)
	a.status.become("stopped", err)
	select {
	case <-a.ctx.Done():
	case <-a.stop.Done():
	}
	return false
}

// mayReclaim lets a fenced flow claim again only once the group has confirmed,
// later than the fencing, that the partition is still ours: two workers that
// claim in turn throw each other's buffers away.
func (w *Worker) mayReclaim(a *assignment, err error, again *backoff) bool {
	if len(w.cfg.Partitions) > 0 || a.fencings.tooMany(time.Now()) {
		w.fail(fmt.Errorf("%w: %s: %w", ErrFencedTooOften, a.status.vchannel.Name(), err))
		return false
	}
	at := time.Now()
	for again.wait(a, w.patience.reclaimFirst, w.patience.reclaimMax) {
		if w.heartbeat.after(at) {
			return true
		}
	}
	return false
}

// backoff doubles its waits.
type backoff struct{ next time.Duration }

func (b *backoff) reset() { b.next = 0 }

// wait returns false if the assignment ends meanwhile.
func (b *backoff) wait(a *assignment, first, most time.Duration) bool {
	b.next = min(max(first, 2*b.next), most)
	timer := time.NewTimer(b.next)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-a.stop.Done():
	case <-a.ctx.Done():
	}
	return false
}
