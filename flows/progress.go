package flows

import (
	"sync"
	"time"
)

// progressEvery is how often flows are looked at, and kafkaPatience how long
// Kafka may be silent before it is why nothing moves. Brokers are asked
// something every ten seconds at least.
const (
	progressEvery = time.Second
	kafkaPatience = 30 * time.Second
)

// resumption is what a flow waits for that was paused on request.
const resumption = "somebody to resume them"

// sample is what is seen of a flow at one moment.
type sample struct {
	state    string
	read     int64  // next offset to be placed in segments
	end      int64  // of the log, as far as known
	waitsFor string // outside the flow, for which it waits rightly; "" for nothing
	// moved is when anything in the worker last moved, if memory is full: only
	// what others do can free it. Zero if memory is not full.
	moved time.Time
}

// progress follows whether a flow moves while there is something for it to do.
type progress struct {
	state string
	read  int64
	since time.Time // of the last move, or of the last moment without anything to do
	stuck bool      // since the last move there was something to do all the time
}

// next is the progress after one more sample.
func (p progress) next(s sample, now time.Time) progress {
	moved := p.since.IsZero() || s.state != p.state || s.read != p.read
	busy := s.state == "claiming" || s.state == "running" && s.read < s.end
	since, stuck := p.since, true
	if moved || !busy || s.waitsFor != "" {
		since, stuck = now, false
	} else if since.Before(s.moved) {
		since = s.moved
	}
	return progress{state: s.state, read: s.read, since: since, stuck: stuck}
}

// watched is a flow's progress as the watch has last seen it.
type watched struct {
	mu       sync.Mutex
	progress progress
	waitsFor string
}

func (w *watched) see(s sample, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.progress, w.waitsFor = w.progress.next(s, now), s.waitsFor
}

// stalled is since when the flow does not move though it should; zero if it
// does. waitsFor says for what it waits rightly.
func (w *watched) stalled() (since time.Time, waitsFor string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.progress.stuck {
		since = w.progress.since
	}
	return since, w.waitsFor
}

// watchProgress looks at all flows until the worker ends.
func (w *Worker) watchProgress() {
	ticker := time.NewTicker(w.patience.progress)
	defer ticker.Stop()
	for {
		select {
		case <-w.ctx.Done():
			return
		case now := <-ticker.C:
			w.lookAtFlows(now)
		}
	}
}

// lookAtFlows takes one sample of each flow.
func (w *Worker) lookAtFlows(now time.Time) {
	store := w.storeWaits()
	_, full := w.metrics.reading.read(now)
	for _, f := range w.metrics.list() {
		s := f.sample()
		switch {
		case store:
			s.waitsFor = "the object store"
		case !w.kafkaSilent(now).IsZero():
			s.waitsFor = "Kafka"
		case s.state == "running" && now.Sub(time.Unix(0, f.endAt.Load())) > kafkaPatience:
			s.waitsFor = "the partition's leader in Kafka"
		case s.state == "running" && f.pausedBy.Load() != nil:
			s.waitsFor = resumption
		case !full.IsZero():
			s.moved = time.Unix(0, w.metrics.movedAt.Load())
		}
		f.watched.see(s, now)
	}
}

// storeWaits says whether calls wait for the object store, if it can tell.
func (w *Worker) storeWaits() bool {
	return w.waiting != nil && w.waiting().Calls > 0
}

// Kafka is how the worker stands with its brokers.
func (w *Worker) Kafka() KafkaStatus { return w.kafka.status(w.cfg, time.Now()) }

// kafkaSilent is since when no broker has answered anything; zero while one
// does.
func (w *Worker) kafkaSilent(now time.Time) time.Time {
	last := w.started // silence is counted from there on
	if at := w.kafka.answered.Load(); at != 0 {
		last = time.UnixMilli(at)
	}
	if now.Sub(last) <= kafkaPatience {
		return time.Time{}
	}
	return last
}

// sample is what can be seen of the flow alone.
func (f *flowStatus) sample() sample {
	f.mu.Lock()
	defer f.mu.Unlock()
	return sample{state: f.state, read: f.read.Load(), end: f.logEnd.Load()}
}
