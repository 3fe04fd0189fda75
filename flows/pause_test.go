package flows

import (
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
)

func TestAPausedVChannelIsNotReadUntilItIsResumed(t *testing.T) {
	w := newWorld(t, 2)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10))
	w.produce(1, createCollection(200))
	l := w.start().until(0, 2).until(1, 1)
	one := Selector{VChannels: []string{vchannel(0)}}
	got, err := l.Pause(within(t), one, "a test")
	if err != nil || !got.Whole(false) {
		t.Fatalf("%+v, %v", got, err)
	}
	w.produce(0, insert(7, 2, 10), insert(8, 3, 10))
	w.produce(1, insertInto(200, 9, 4, 10))
	l.until(1, 2) // fetched after all that
	s := l.has(0, "paused")
	if s.Read != 2 || s.Pause == nil || s.Pause.By != "a test" || s.Pause.Since.IsZero() {
		t.Errorf("the pause: %+v, %+v", s, s.Pause)
	}
	if n := l.metric("flowgraph_vchannel_paused"); n != 1 {
		t.Errorf("%v vchannels are counted as paused", n)
	}
	since := s.Pause.Since
	if _, err := l.Pause(within(t), all, "another"); err != nil {
		t.Fatal(err)
	}
	if s := l.status(0); s.Pause == nil || !s.Pause.Since.Equal(since) || s.Pause.By != "a test" {
		t.Errorf("paused again: %+v", s.Pause)
	}
	if got, err := l.Flush(within(t), all, true); err != nil || !got.Whole(true) {
		t.Errorf("a flush of what is paused: %+v, %v", got, err)
	}
	if got, err := l.Resume(within(t), all, "a test"); err != nil || !got.Whole(false) {
		t.Errorf("%+v, %v", got, err)
	}
	l.until(0, 4).stop()
	w.exact(archive.CheckOptions{})
	kinds := []string{}
	for _, e := range l.Events(0, 100).Events {
		if e.VChannel == vchannel(0) && (e.Kind == "pause" || e.Kind == "resume") {
			kinds = append(kinds, e.Kind)
		}
	}
	if !slices.Equal(kinds, []string{"pause", "resume"}) || !l.log.has("paused on request") {
		t.Errorf("told: %v", kinds)
	}
}

// What is buffered must not wait for the end of a pause.
func TestAPausedVChannelFlushesByAge(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10))
	l := w.start(func(c *Config) { c.Limits.FlushAge = time.Second }).until(0, 2)
	if _, err := l.Pause(within(t), all, ""); err != nil {
		t.Fatal(err)
	}
	until(t, "its rows are committed", func() bool { return l.status(0).Seek == 2 })
	l.stop()
	w.exact(archive.CheckOptions{})
}

func TestAStopDuringAPauseDrains(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10))
	l := w.start().until(0, 2)
	if _, err := l.Pause(within(t), all, ""); err != nil {
		t.Fatal(err)
	}
	w.produce(0, insert(7, 2, 10))
	l.stop()
	if d := w.document(0); d.Seek.Offset != 2 {
		t.Errorf("drained up to %d", d.Seek.Offset)
	}
	l = w.start().until(0, 3) // a restart does not know of it
	if s := l.status(0); s.Pause != nil || s.State != "running" {
		t.Errorf("after a restart: %+v", s)
	}
	l.stop()
	w.exact(archive.CheckOptions{})
}

// A flow that fails and starts again must not end a pause, and a pause must
// not keep it from claiming.
func TestAPauseOutlivesAFlowThatFails(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10))
	l := w.start().until(0, 2)
	if _, err := l.Pause(within(t), all, ""); err != nil {
		t.Fatal(err)
	}
	w.produce(0, insert(7, 2, 10))
	epoch := l.status(0).Epoch
	w.bucket.Before(refuse(membucket.Put, "checkpoints/"))
	for _, a := range l.assignments() {
		a.installed.Load().fail(errKilled)
	}
	until(t, "the flow has failed", func() bool { return l.log.has("failed; starts again") })
	w.bucket.Before(nil)
	until(t, "it has claimed again", func() bool { s := l.status(0); return s.State == "paused" && s.Epoch > epoch })
	if got, err := l.Flush(within(t), all, true); err != nil || !got.Whole(true) {
		t.Errorf("%+v, %v", got, err)
	}
	if !slices.Contains(l.client.PauseFetchPartitions(nil)[topic], 0) {
		t.Error("the flow's new beginning has ended the pause")
	}
	if s := l.status(0); s.Read > 2 || s.Pause == nil {
		t.Errorf("it reads on: %+v", s)
	}
	if _, err := l.Resume(within(t), all, ""); err != nil {
		t.Fatal(err)
	}
	l.until(0, 3).stop()
	w.exact(archive.CheckOptions{})
}

// It is a worker's own: what the group leaves with it stays paused, what the
// group gives to another is read there, and again here once it comes back.
func TestAPauseGoesWithThePartition(t *testing.T) {
	w := newWorld(t, 2)
	for p := range int32(2) {
		w.produce(p, createCollection(collectionID), insert(int64(10+p), int64(1000*p), 10))
	}
	a := w.start().until(0, 2).until(1, 2)
	if _, err := a.Pause(within(t), all, ""); err != nil {
		t.Fatal(err)
	}
	b := w.start()
	share(a, b, 1, 1)
	kept, given := a.owns()[0], b.owns()[0]
	w.produce(0, insert(10, 1, 10))
	w.produce(1, insert(11, 1001, 10))
	b.until(given, 3)
	if s := a.has(kept, "paused"); s.Read != 2 {
		t.Errorf("what was kept is read up to %d", s.Read)
	}
	b.stop()
	a.until(given, 3)
	if s := a.status(kept); s.State != "paused" || s.Read != 2 {
		t.Errorf("what was kept is %s at %d", s.State, s.Read)
	}
	if _, err := a.Resume(within(t), all, ""); err != nil {
		t.Fatal(err)
	}
	a.until(kept, 3).stop()
	w.exact(archive.CheckOptions{})
}

// Two reasons must not undo each other: that one lags behind the others, and
// a request.
func TestTheEndOfOneReasonForAPauseIsNotThatOfTheOther(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Brokers, cfg.Topics, cfg.MemoryBudget = []string{"127.0.0.1:1"}, []string{topic}, 1<<30
	w, err := NewWorker(cfg, membucket.New(), prometheus.NewRegistry(), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	if w.client, err = kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...)); err != nil {
		t.Fatal(err)
	}
	defer w.client.Close()
	for id := range int32(2) {
		a := &assignment{partition: partition{topic, id}, status: w.metrics.join(checkpoints.VChannel{Topic: topic, Partition: id})}
		a.installed.Store(&install{a: a, mailbox: newMailbox(&Account{budget: w.shared.Budget})})
		w.parts[a.partition] = a
	}
	a := w.parts[partition{topic, 0}]
	fetched := &a.installed.Load().mailbox.account.fetched
	lags := map[bool]int64{true: w.shared.Budget.Limit() / 4, false: 0}
	for i, step := range []struct{ lags, asked, fetched bool }{
		{false, false, true},
		{true, false, false}, {true, true, false}, {false, true, false}, {false, false, true}, // the lag ends first
		{true, false, false}, {true, true, false}, {true, false, false}, {false, false, true}, // the request does
		{false, true, false}, {true, true, false}, {true, false, false}, {false, false, true}, // the request began
	} {
		fetched.Store(lags[step.lags])
		a.status.pausedBy.Store(nil)
		if step.asked {
			a.status.pausedBy.Store(&Pause{})
		}
		if !w.decide() {
			t.Fatalf("step %d: nothing is read", i)
		}
		if paused := slices.Contains(w.client.PauseFetchPartitions(nil)[topic], 0); paused == step.fetched {
			t.Errorf("step %d, %+v: paused is %t", i, step, paused)
		}
	}
	if paused := w.client.PauseFetchPartitions(nil)[topic]; len(paused) != 0 {
		t.Errorf("paused at the end: %v", paused)
	}
}
