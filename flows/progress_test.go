package flows

import (
	"testing"
	"time"

	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
	"flowgraph/sinks"
)

// A flow that waits rightly, or has nothing to do, must never look stuck: a
// restart would throw away what it holds. One that does neither must.
func TestOnlyAFlowThatCouldMoveAndDoesNotIsStalled(t *testing.T) {
	running := func(read, end int64, waitsFor string) sample {
		return sample{state: "running", read: read, end: end, waitsFor: waitsFor}
	}
	begin := time.Unix(1000, 0)
	at := func(s int) time.Time { return begin.Add(time.Duration(s) * time.Second) }
	full := func(moved int) sample {
		return sample{state: "running", read: 5, end: 9, moved: at(moved)}
	}
	for _, c := range []struct {
		name    string
		samples []sample // a second apart
		since   int      // second of the stall's begin; -1: none
	}{
		{"reads", []sample{running(1, 9, ""), running(2, 9, ""), running(3, 9, "")}, -1},
		{"has read all", []sample{running(9, 9, ""), running(9, 9, ""), running(9, 9, "")}, -1},
		{"does not read", []sample{running(5, 9, ""), running(5, 9, ""), running(5, 9, "")}, 0},
		{"does not read what came late", []sample{running(9, 9, ""), running(9, 9, ""), running(9, 12, ""), running(9, 12, "")}, 1},
		{"reads again", []sample{running(5, 9, ""), running(5, 9, ""), running(6, 9, "")}, -1},
		{"waits for the store", []sample{running(5, 9, "the store"), running(5, 9, "the store"), running(5, 9, "the store")}, -1},
		{"does not go on after the store came back", []sample{running(5, 9, ""), running(5, 9, "the store"), running(5, 9, ""), running(5, 9, "")}, 1},
		{"memory is full and others flush", []sample{full(0), full(1), full(2), full(3)}, 3},
		{"memory is full and nobody moves", []sample{full(0), full(0), full(0), full(0)}, 0},
		{"is stopped", []sample{{state: "stopped", end: 9}, {state: "stopped", end: 9}}, -1},
		{"waits to start again", []sample{{state: "waiting", end: 9}, {state: "waiting", end: 9}}, -1},
		{"is not claimed", []sample{{state: "claiming"}, {state: "claiming"}, {state: "claiming"}}, 0},
		{"is claimed", []sample{{state: "claiming"}, {state: "claiming"}, running(0, 9, "")}, -1},
	} {
		var w watched
		for i, s := range c.samples {
			w.see(s, at(i))
		}
		since, _ := w.stalled()
		switch {
		case c.since < 0 && !since.IsZero():
			t.Errorf("%s: stalled since second %g", c.name, since.Sub(begin).Seconds())
		case c.since >= 0 && !since.Equal(at(c.since)):
			t.Errorf("%s: stalled since %v, want second %d", c.name, since, c.since)
		}
	}
}

// hasty looks at the flows' progress often.
func hasty(w *Worker) { w.patience.progress = time.Millisecond }

// A stage blocks for ever: its vchannel must show as stuck, the other one must
// not, and neither any more once it goes on.
func TestAFlowWhoseStageBlocksShowsAsStuck(t *testing.T) {
	w := newWorld(t, 2)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10), insert(7, 2, 10))
	w.produce(1, createCollection(collectionID), tick(5))
	blocked := w.hold(membucket.Get, "segments/") // the position filter's lookup
	l := w.startWith(hasty, func(c *Config) { c.StallAfter = 50 * time.Millisecond })
	l.until(1, 2)
	until(t, "the flow is stuck", func() bool { return l.status(0).Stuck && blocked.waits() })
	s := l.status(0)
	if s.State != "running" || s.Stalled.IsZero() || s.LogEnd != 3 || s.Read >= s.LogEnd {
		t.Errorf("status %+v", s)
	}
	if n := l.metric("flowgraph_vchannel_stalled_seconds"); n <= 0 {
		t.Errorf("the metric says %g", n)
	}
	if s := l.status(1); s.Stuck || !s.Stalled.IsZero() {
		t.Errorf("the idle one: %+v", s)
	}
	blocked.open()
	until(t, "it has read on", func() bool { s := l.status(0); return s.Read == 3 && !s.Stuck && s.Stalled.IsZero() })
	l.until(0, 3).stop()
	w.exact(archive.CheckOptions{})
}

// The store is away, Kafka is not, and memory is not full: nothing moves, and
// that is right.
func TestAFlowThatWaitsForTheStoreIsNotStuck(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10))
	blocked := w.hold(membucket.Get, "segments/")
	seen := make(chan struct{})
	l := w.startWith(func(worker *Worker) {
		hasty(worker)
		worker.waiting = func() sinks.Waiting {
			select {
			case seen <- struct{}{}:
			default:
			}
			return sinks.Waiting{Calls: 1}
		}
	}, func(c *Config) { c.StallAfter = time.Millisecond })
	until(t, "the stage is blocked", blocked.waits)
	for range 20 { // looks at the flow since it is blocked
		<-seen
	}
	if s := l.status(0); s.Stuck || s.WaitsFor == "" {
		t.Errorf("status %+v", s)
	}
	blocked.open()
	l.until(0, 2).stop()
}

// The end of a log that is not read must be known all the same, or its lag
// would stand still while it grows.
func TestTheLagOfAVChannelThatIsNotReadGrows(t *testing.T) {
	w := newWorld(t, 4)
	for p := range int32(4) {
		w.produce(p, createCollection(collectionID))
		w.produce(p, inserts(int64(10+p), int64(10000*p), 100, 60000)...)
	}
	down := w.hold(membucket.Put, "insert_log/")
	l := w.startWith(hasty, small)
	until(t, "reading pauses", func() bool { return l.metric("flowgraph_reading_paused") == 1 })
	for p := range int32(4) {
		w.produce(p, insert(int64(10+p), 500000+int64(p), 10))
		until(t, "the end is known", func() bool { return l.status(p).LogEnd == 102 })
	}
	if n := l.metric("flowgraph_reading_paused_seconds_total"); n <= 0 {
		t.Errorf("%g seconds of pause", n)
	}
	if n := l.metric("flowgraph_vchannel_oldest_unstored_row_timestamp_seconds"); n == 0 {
		t.Error("nothing is said to be unstored")
	}
	down.open()
	for p := range int32(4) {
		l.until(p, 102)
	}
	l.stop()
	if n := l.metric("flowgraph_vchannel_lag_records"); n != 0 {
		t.Errorf("a lag of %g records is left", n)
	}
	w.exact(archive.CheckOptions{})
}
