package flows

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/checkpoints"
	"flowgraph/sinks"
	"flowgraph/stages"
	"flowgraph/stages/column"
)

// Worker consumes the partitions that its group gives it, or an explicit
// list, with one flow each.
type Worker struct {
	cfg     Config
	shared  *Shared
	metrics *Metrics
	log     zerolog.Logger

	client    *kgo.Client
	heartbeat heartbeat
	kafka     kafkaHealth
	started   time.Time
	begun     atomic.Bool // Run was called
	refused   startTrouble
	patience  patience
	slabs     stages.Slabs // of the flows' batches
	throttled bool         // a partition is paused for memory; the poll loop's own

	ctx  context.Context // kill, of everything
	fail context.CancelCauseFunc
	ends map[partition]logEnd // with UntilEnd; not changed once listed

	mu        sync.Mutex
	parts     map[partition]*assignment
	ready     []*install         // flows for the poll loop
	interrupt context.CancelFunc // of the poll under way
	rounds    int                // assignments by the group so far
	closing   bool
	held      bool // somebody has paused or resumed; the poll loop has not looked yet

	waiting func() sinks.Waiting // for the bucket; nil: it cannot tell

	commits sync.Mutex // held while Kafka's group is told positions
}

// NewWorker returns a worker that writes to a bucket.
func NewWorker(cfg Config, b checkpoints.Bucket, reg prometheus.Registerer, log zerolog.Logger) (*Worker, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	budget, pool := NewBudget(cfg.MemoryBudget), &column.Pool{}
	metrics := NewMetrics(reg, budget)
	metrics.limit = cfg.StallAfter
	sink := sinks.NewShared(b, pool, runtime.GOMAXPROCS(0), 2*runtime.GOMAXPROCS(0))
	sink.Filter, sink.Rebuilt = cfg.Filter, metrics.lostStats(log)
	home := ""
	if store, ok := b.(interface{ Home() string }); ok {
		home = store.Home()
	}
	var waiting func() sinks.Waiting
	if store, ok := b.(interface{ Waiting() sinks.Waiting }); ok {
		waiting = store.Waiting
	}
	w := &Worker{
		cfg: cfg, metrics: metrics, log: log, waiting: waiting,
		shared: &Shared{
			Sink: sink,
			Pace: checkpoints.NewPace(), Budget: budget, Claims: make(chan struct{}, 16),
			Home: home, Surveys: checkpoints.NewSurveyor(b),
			Buffer:  stages.BufferConfig{Limits: cfg.Limits, Pool: pool, StopOnBad: cfg.StopOnBad, Schemas: cfg.Schemas},
			Options: checkpoints.DefaultOptions(), GapGoOn: cfg.GapGoOn, Metrics: metrics, Log: log,
		},
		started: time.Now(), patience: defaultPatience(), parts: map[partition]*assignment{}, interrupt: func() {},
	}
	metrics.kafka = &w.kafka
	return w, nil
}

// Status lists the vchannels that this worker has.
func (w *Worker) Status() []FlowStatus { return w.metrics.Status() }

// Ready says whether the worker has its first assignment and every flow of it
// has claimed its vchannel or is stopped.
func (w *Worker) Ready() bool {
	w.mu.Lock()
	rounds := w.rounds
	w.mu.Unlock()
	for _, f := range w.Status() {
		if f.State == "claiming" {
			return false
		}
	}
	return rounds > 0
}

// Run consumes until stop ends (then it flushes and commits everything within
// the grace period), ctx ends (at once), all logs have reached their end (with
// UntilEnd), or the worker cannot go on. It returns nil after a complete
// drain.
func (w *Worker) Run(ctx, stop context.Context) error {
	w.begun.Store(true)
	w.ctx, w.fail = context.WithCancelCause(ctx)
	defer w.fail(nil)
	if w.cfg.UntilEnd {
		ends, err := w.listEnds(w.ctx)
		if err != nil {
			return err
		}
		w.ends = ends
	}
	// The group's callbacks begin with the client; they wait until it is here.
	w.mu.Lock()
	client, err := w.newClient()
	w.client = client
	w.mu.Unlock()
	if err != nil {
		return fmt.Errorf("kafka client: %w", err)
	}
	if len(w.cfg.Partitions) > 0 {
		w.assigned(w.ctx, client, w.cfg.Partitions)
	}
	var loops sync.WaitGroup
	loops.Go(w.poll)
	loops.Go(w.tellGroup)
	loops.Go(w.watchTopics)
	loops.Go(w.watchProgress)
	err = w.await(stop)
	err = errors.Join(err, w.close(err == nil))
	w.fail(errKilled)
	loops.Wait()
	return err
}

// await returns why the worker is to end: nil for a graceful end.
func (w *Worker) await(stop context.Context) error {
	var look <-chan time.Time // for the logs' ends; nil: never
	if w.cfg.UntilEnd {
		ticker := time.NewTicker(endsEvery)
		defer ticker.Stop()
		look = ticker.C
	}
	left := maps.Clone(w.ends)
	for {
		select {
		case <-w.ctx.Done():
			return context.Cause(w.ctx)
		case <-stop.Done():
			if w.ctx.Err() != nil { // both at once: there is no time to drain
				return context.Cause(w.ctx)
			}
			w.log.Info().Dur("grace", w.cfg.Grace).Msg("stopping: flushing everything")
			return nil
		case <-look:
			if w.finished(w.ctx, left) {
				return nil
			}
		}
	}
}

// close ends all assignments, gracefully or not, and leaves the group.
func (w *Worker) close(graceful bool) error {
	w.mu.Lock()
	w.closing = true
	all := make([]*assignment, 0, len(w.parts))
	for _, a := range w.parts {
		all = append(all, a)
	}
	w.mu.Unlock()
	var err error
	if !end(all, graceful, w.cfg.Grace*3/4, w.ctx) && graceful {
		if err = context.Cause(w.ctx); err == nil {
			err = ErrGrace
		}
	}
	w.release(all, true)
	// Leaving is tried with a time of its own: the brokers may be gone.
	leaving := w.cfg.Grace / 4
	if w.ctx.Err() != nil {
		leaving = min(leaving, time.Second)
	}
	closed := make(chan struct{})
	go func() { // ends with the process if the client does not let go
		defer close(closed)
		w.client.CloseAllowingRebalance()
	}()
	select {
	case <-closed:
	case <-time.After(leaving):
		w.log.Warn().Msg("the Kafka client did not close in time")
	}
	if graceful {
		err = errors.Join(err, w.undrained(all))
	}
	return err
}

// undrained joins why assignments ended otherwise than drained. One that has
// waited for an operator matters only to whoever ran until the end.
func (w *Worker) undrained(all []*assignment) error {
	var errs []error
	for _, a := range all {
		err := a.failure.Load()
		switch {
		case err == nil:
		case !a.stopped.Load():
			errs = append(errs, fmt.Errorf("%s was not drained: %w", a.status.vchannel.Name(), *err))
		case w.cfg.UntilEnd:
			errs = append(errs, fmt.Errorf("%w: %s: %w", ErrStopped, a.status.vchannel.Name(), *err))
		}
	}
	return errors.Join(errs...)
}

// end drains assignments for so long at most, or kills them, and waits until
// all are closed. It returns whether all were drained.
func end(all []*assignment, graceful bool, limit time.Duration, ctx context.Context) bool {
	drained := true
	if graceful {
		deadline := time.NewTimer(limit)
		defer deadline.Stop()
		for _, a := range all {
			a.drain()
		}
		for _, a := range all {
			select {
			case <-a.done:
				continue
			case <-deadline.C:
			case <-ctx.Done():
			}
			drained = false
			break
		}
	}
	for _, a := range all {
		a.kill(ErrLost)
		<-a.done
	}
	return drained
}
