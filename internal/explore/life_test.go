package explore

import (
	"context"
	"fmt"
	"sync"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"flowgraph/checkpoints"
	"flowgraph/flows"
	"flowgraph/sinks"
	"flowgraph/stages"
)

// life is one flow, from its start to its end.
type life struct {
	*world
	log    *script // whose records it reads
	slabs  stages.Slabs
	number int
	kill   context.CancelCauseFunc
	stop   context.CancelFunc
	lost   chan struct{} // closed: another life has its place
	dead   chan struct{} // closed: nothing of it reaches the store any more
	ended  chan struct{} // closed when Run returned
	err    error         // of Run
	status interface{ Status() []flows.FlowStatus }

	mu      sync.Mutex
	mailbox *flows.Mailbox
	next    int64          // offset to read next
	times   map[string]int // calls of each name
	isDead  bool
	held    chan struct{} // closed: the call held back may go on
	late    bool          // it is held back to the end; under world.mu, as is freed
	freed   bool
}

// start runs a flow until it has claimed, or ended.
func (w *world) start() *life {
	l := &life{world: w, log: w.script, number: len(w.all) + 1, lost: make(chan struct{}), dead: make(chan struct{}), ended: make(chan struct{}), held: make(chan struct{}), times: map[string]int{}}
	ctx, kill := context.WithCancelCause(context.Background())
	stop, drain := context.WithCancel(ctx)
	l.kill, l.stop = kill, drain
	budget := flows.NewBudget(1 << 30)
	metrics := flows.NewMetrics(prometheus.NewRegistry(), budget)
	l.status = metrics
	bucket := &calls{life: l, bucket: w.bucket}
	sink := sinks.NewShared(bucket, w.pool, 2, 4)
	sink.Encoder = w.encoder
	f := flows.NewFlow(w.script.vchannel(), &flows.Shared{
		Sink: sink, Pace: checkpoints.NewPace(), Budget: budget, Claims: make(chan struct{}, 16),
		Buffer:  stages.BufferConfig{Limits: w.script.limits, Pool: w.pool},
		Options: w.script.options, Metrics: metrics, Log: zerolog.Nop(),
		Surveys: checkpoints.NewSurveyor(bucket),
	})
	f.Told = w.group
	f.Bounds = func(ctx context.Context) (start, end int64, err error) {
		err = bucket.make(ctx, "bounds", "", func() error {
			start, end = 0, w.end()
			return nil
		})
		return start, end, err
	}
	f.Lineage = w.lineage
	ready := make(chan struct{})
	f.Ready = func(from checkpoints.Position, m *flows.Mailbox) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.mailbox, l.next = m, from.Offset
		close(ready)
	}
	w.all = append(w.all, l)
	w.tell("life %d starts", l.number)
	w.mu.Lock()
	w.current = l
	w.mu.Unlock()
	go func() {
		defer close(l.ended)
		l.err = f.Run(ctx, stop)
		drain()
		kill(nil)
	}()
	select {
	case <-ready:
	case <-l.ended:
	case <-l.lost:
	}
	return l
}

func (l *life) box() *flows.Mailbox {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mailbox
}

// ready says whether the life has claimed and has its place.
func (l *life) ready() bool { return l.box() != nil && !l.over() && l.world.living() == l }

// named gives a call its name and what the plan has for it.
func (l *life) named(op, key string) (string, kind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := fmt.Sprintf("life %d %s %s", l.number, op, key)
	l.times[name]++
	if n := l.times[name]; n > 1 {
		name = fmt.Sprintf("%s #%d", name, n)
	}
	return name, l.world.called(op, name)
}

// die is the end of the process: nothing of it has any effect any more.
func (l *life) die() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.isDead {
		l.isDead = true
		close(l.dead)
	}
	l.kill(errDead)
}

// sleep returns false if the process died meanwhile, or the call's context
// ended.
func (l *life) sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-l.dead:
	case <-ctx.Done():
	}
	return ctx.Err() == nil && !l.killed()
}

func (l *life) killed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.isDead
}

func (l *life) gone(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errDead
}

// hold waits until the call held back may go on. The end of its context does
// not stop it: what is on its way arrives.
func (l *life) hold() bool {
	select {
	case <-l.held:
	case <-l.dead:
	}
	return !l.killed()
}

// over says whether the life has ended, or another has its place.
func (l *life) over() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

// read fetches what the log holds up to its record with this number, in
// batches of so many.
func (l *life) read(upTo, batch int) {
	l.mu.Lock()
	mailbox, next := l.mailbox, l.next
	l.mu.Unlock()
	if mailbox == nil || l.log != l.script { // what it read is gone
		return
	}
	records := l.log.records[:upTo]
	for len(records) > 0 && records[0].Offset < next {
		records = records[1:]
	}
	for len(records) > 0 && !l.over() {
		raw := l.slabs.Raw(min(batch, len(records)))
		for _, r := range records[:min(batch, len(records))] {
			rec := stages.Record{Offset: r.Offset, LeaderEpoch: l.log.epochs[r.Offset], Time: r.Timestamp, Value: r.Value, Control: l.log.control[r.Offset]}
			raw.Add(rec)
			for _, h := range r.Headers {
				raw.AddHeader(h.Name, h.Value)
			}
			raw.Bytes += int64(len(r.Value))
			next = checkpoints.After(r.Offset)
		}
		records = records[len(raw.Records):]
		switch _, fault := l.named("poll", fmt.Sprint(raw.Records[0].Offset)); fault {
		case before:
			l.die()
			<-l.ended
			return
		case zombie, late:
			l.world.usurp(l, fault)
			return
		}
		mailbox.Put(raw)
		synctest.Wait()
	}
	l.mu.Lock()
	l.next = next
	l.mu.Unlock()
}

// readAll waits until everything in the log was placed; false: the life ended
// before, or lost its place.
func (l *life) readAll() bool {
	end := l.end()
	for range 100_000 {
		if l.over() || l.world.living() != l {
			return false
		}
		if s := l.status.Status(); len(s) == 1 && s[0].Read >= end {
			return true
		}
		pass(100 * time.Millisecond)
	}
	l.fail("life %d does not read on: %+v", l.number, l.status.Status())
	return false
}

// usurped is closed once a living one has lost its place; one that never had
// it waits for its end alone.
func (l *life) usurped() <-chan struct{} {
	if l.world.living() == l {
		return l.lost
	}
	return nil
}

// drain stops the life gracefully and returns why it ended.
func (l *life) drain() error {
	l.stop()
	select {
	case <-l.ended:
	case <-l.usurped():
		return errUsurped
	case <-time.After(6 * time.Hour):
		l.fail("life %d does not drain: %+v", l.number, l.status.Status())
		l.die()
		<-l.ended
	}
	return l.err
}
