package explore

import (
	"context"
	"errors"
	"testing/synctest"
	"time"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
	"flowgraph/stages"
)

// actions are what the lines of a script do that write no record. Each finds
// a life that runs.
var actions = map[string]func(*world, *life, step){
	"poll": func(w *world, l *life, s step) {
		w.fetched = min(w.fetched+s.n, s.produced)
		l.read(w.fetched, s.n)
		for _, z := range w.walking() {
			z.read(w.fetched, s.n)
		}
		pass(5 * time.Millisecond)
	},
	"wait": func(_ *world, _ *life, s step) { pass(s.span) },
	"free": func(_ *world, l *life, s step) {
		l.box().Ask(int64(s.n))
		synctest.Wait()
	},
	"ask-flush":  func(w *world, l *life, _ step) { w.request(l, stages.Request{}) },
	"ask-seal":   func(w *world, l *life, s step) { w.request(l, stages.Request{Seal: true, Collection: int64(s.n)}) },
	"drain":      func(w *world, l *life, _ step) { w.tell("life %d drained: %v", l.number, l.drain()) },
	"seal-first": func(w *world, _ *life, _ step) { w.early = true },
	"restart": func(_ *world, l *life, _ step) {
		l.die()
		<-l.ended
	},
	"takeover": func(w *world, l *life, _ step) {
		w.usurp(l, zombie)
		w.alive()
	},
	"put-back": func(w *world, _ *life, s step) { w.putBack(s.n) },
	"rewind":   func(w *world, _ *life, s step) { w.rewind(s.n) },
	"gc":       func(w *world, _ *life, _ step) { w.gc() },
	"sweep":    func(w *world, _ *life, _ step) { w.sweep() },
}

// request hands the flow what an operator asks for, and waits as long as the
// flow can do anything without time passing.
func (w *world) request(l *life, r stages.Request) {
	answer, err := l.box().Request(r)
	if err != nil {
		w.tell("the request fails: %v", err)
		return
	}
	synctest.Wait()
	select {
	case d := <-answer:
		w.tell("cut %d segments of %d rows, %d wait for their seal", d.Segments, d.Rows, d.Unsealed)
	default:
		w.tell("no answer yet")
	}
}

// rewind is the operator's command; whoever owns the vchannel is fenced.
func (w *world) rewind(n int) {
	to := checkpoints.Position{LeaderEpoch: -1}
	d, err := checkpoints.Decode(w.script.vchannel().Name(), w.bucket.Data(checkpoints.DocumentKey(w.script.vchannel().Name())))
	if err == nil && n > 0 && n <= len(d.Earlier) {
		to = d.Earlier[len(d.Earlier)-n].ReadFrom
	}
	if _, err := checkpoints.Rewind(context.Background(), w.bucket, w.script.vchannel(), to); err != nil && !errors.Is(err, checkpoints.ErrForward) {
		w.fail("rewind to %d: %v", to.Offset, err)
	}
}

// gc looks for what nothing refers to, while workers run.
func (w *world) gc() {
	o := archive.GarbageOptions{Now: time.Now(), Remove: remover{w.bucket}}
	var err error
	if w.garbage, err = archive.NewCollector(context.Background(), w.bucket, o); err != nil {
		w.fail("gc: %v", err)
	}
}

// sweep removes it, perhaps much later.
func (w *world) sweep() {
	if w.garbage == nil {
		return
	}
	for g, err := range w.garbage.Garbage(context.Background()) {
		if err != nil {
			w.fail("gc: %v", err)
			return
		}
		w.tell("removed %s", g.Key)
	}
}

type remover struct{ bucket *membucket.Bucket }

func (r remover) Remove(_ context.Context, key string) error {
	r.bucket.Remove(key)
	return nil
}

// pass lets virtual time pass.
func pass(d time.Duration) { time.Sleep(d) }
