package explore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"flowgraph/checkpoints"
	"flowgraph/flows"
	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
	"flowgraph/sinks/binlog"
	"flowgraph/stages"
	"flowgraph/stages/column"
)

// plan says what happens to a call.
type plan func(op, name string) kind

// world is one run of a script: what outlives its workers, and they.
type world struct {
	whole   *script
	script  *script         // its part that runs
	pool    *column.Pool    // shared by all lives, as those of one process do
	encoder *binlog.Encoder // the same
	bucket  *membucket.Bucket
	began   time.Time
	replay  int // records that a life after a failure reads at a time of what others read before
	all     []*life
	fetched int // records that some life has read
	garbage *archive.Collector
	early   bool // the next life is asked for a seal before it reads
	olds    olds // under mu

	mu       sync.Mutex
	plan     plan // nil: everything works
	over     bool // the plan is: calls are not counted any more
	current  *life
	zombies  []*life
	produced int // records in the log
	seen     []call
	met      int // failures that happened
	story    []string
	failure  string
}

func newWorld(s *script, replay int, p plan) *world {
	w := &world{whole: s, script: s, pool: &column.Pool{}, encoder: &binlog.Encoder{}, bucket: membucket.New(), began: time.Now(), replay: replay, plan: p}
	w.bucket.After(w.keep)
	return w
}

func (w *world) tell(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.story = append(w.story, fmt.Sprintf("%12s  ", time.Since(w.began).Round(time.Microsecond))+fmt.Sprintf(format, args...))
}

// fail notes the first thing that is wrong.
func (w *world) fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failure == "" {
		w.failure = fmt.Sprintf(format, args...)
	}
}

// called notes a call and says what happens to it.
func (w *world) called(op, name string) kind {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := time.Since(w.began)
	k := works
	if !w.over {
		w.seen = append(w.seen, call{at, op, name})
		if w.plan != nil {
			k = w.plan(op, name)
		}
	}
	line := fmt.Sprintf("%12s  %s", at.Round(time.Microsecond), name)
	if k != works {
		w.met++
		line += ": " + string(k)
	}
	w.story = append(w.story, line)
	return k
}

// end is the log's: the offset after its last record.
func (w *world) end() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.produced == 0 {
		return 0
	}
	return checkpoints.After(w.script.records[w.produced-1].Offset)
}

func (w *world) living() *life {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.current
}

// usurp takes a life's place away, of which it knows nothing.
func (w *world) usurp(l *life, k kind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.current != l && slices.Contains(w.zombies, l) {
		return
	}
	if w.current == l || w.current == nil {
		w.current = nil
	}
	l.late = k == late
	w.zombies = append(w.zombies, l)
	close(l.lost)
}

// free lets the calls go on that are held back.
func (w *world) free(all bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.zombies {
		if (all || !l.late) && !l.freed {
			l.freed = true
			close(l.held)
		}
	}
}

// batch is how many records a new life reads at a time of what others read
// before. Up to the first failure it is the same in every run.
func (w *world) batch() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.met == 0 {
		return w.script.replay
	}
	return w.replay
}

// walking are those that lost their place, do not know it, and read on.
func (w *world) walking() []*life {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.zombies), func(l *life) bool { return !l.freed })
}

const attempts = 40 // lives in a row that may fail

// alive returns a life that has claimed and read what others read before it.
func (w *world) alive() *life {
	for range attempts {
		l := w.living()
		if l != nil && !l.over() {
			return l
		}
		if l != nil {
			w.tell("life %d ended: %v", l.number, l.err)
			if errors.Is(l.err, checkpoints.ErrOlder) {
				w.refused()
			}
			if errors.Is(l.err, flows.ErrCutBack) {
				w.acceptCut()
			}
		}
		if l = w.start(); l.ready() {
			w.olds.putBack = false
			if w.replay == 1 {
				w.free(false) // before anything is committed
			}
			if w.early {
				w.early = false
				w.request(l, stages.Request{Seal: true})
			}
			l.read(w.fetched, w.batch())
			pass(100 * time.Millisecond)
			w.free(false)
		} else {
			pass(time.Second)
		}
	}
	w.fail("no life goes on after %d starts", attempts)
	return nil
}

// run takes the script to its end, in a bubble of virtual time. What is in the
// bucket then is compared with the log outside: check.
func (w *world) run() {
	for {
		for _, s := range w.script.steps {
			w.step(s)
		}
		if w.script.then == nil {
			break
		}
		if w.script.then.cutBack {
			w.loseEnd()
		} else {
			w.newLog()
		}
	}
	w.finish()
	if w.failure == "" {
		w.again()
	}
	// Whatever went wrong, nothing of this run may live on.
	for _, l := range w.all {
		l.die()
		<-l.ended
	}
}

func (w *world) step(s step) {
	w.mu.Lock()
	w.produced = s.produced
	w.mu.Unlock()
	do, ok := actions[s.verb]
	if !ok {
		return // a record
	}
	w.tell("> %s", s.text)
	if l := w.alive(); l != nil {
		do(w, l, s)
	}
}

// finish reads the log to its end and drains, whatever it takes, and then
// lets those go on and end that were held back.
func (w *world) finish() {
	w.tell("> to the end")
	w.mu.Lock()
	w.produced = len(w.script.records)
	w.mu.Unlock()
	w.fetched = w.produced
	done := false
	for range attempts {
		l := w.alive()
		if l == nil {
			return
		}
		l.read(w.fetched, 1<<30)
		if !l.readAll() {
			continue
		}
		err := l.drain()
		w.tell("life %d drained: %v", l.number, err)
		if done = err == nil && !l.killed() && w.living() == l; done {
			break
		}
	}
	if !done {
		w.fail("no drain ends well after %d starts", attempts)
	}
	w.mu.Lock()
	w.over = true
	w.mu.Unlock()
	w.free(true)
	pass(time.Second)
	w.mu.Lock()
	w.current = nil
	zombies := w.zombies
	w.mu.Unlock()
	for _, l := range zombies {
		err := l.drain()
		w.tell("life %d, of the past, ended: %v", l.number, err)
	}
}

// text is what happened, for people.
func (w *world) text() string {
	return strings.Join(w.story, "\n")
}
