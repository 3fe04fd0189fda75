package flows

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
	"flowgraph/stages"
)

// within is a context for a request that should be answered.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

var (
	all      = Selector{All: true}
	flushAll = stages.Request{}
)

func TestAFlushThatWasAskedForIsCommittedBeforeTheAnswer(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10), insert(8, 2, 10))
	l := w.start().until(0, 3)
	got, err := l.Flush(within(t), all, true)
	if err != nil || len(got.VChannels) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if v := got.VChannels[0]; !v.Done || !v.Committed || v.Segments != 2 || v.Rows != 2 || v.Bytes == 0 || v.Error != "" {
		t.Errorf("the answer is %+v", v)
	}
	d := w.document(0)
	if d.Seek.Offset != 3 || d.Segments[7] == nil || d.Segments[7].Rows != 1 || d.Segments[7].State != checkpoints.Normal {
		t.Errorf("answered before the commit: %+v", d)
	}
	if n := l.metric("flowgraph_flushes_total"); n != 2 {
		t.Errorf("%v flushes are counted", n)
	}
	l.kill() // nothing but the bucket is left of it
	w.start().until(0, 3).stop()
	w.exact(archive.CheckOptions{})
}

func TestAFlushIsOfTheCollectionThatWasNamedAlone(t *testing.T) {
	w := newWorld(t, 2)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10))
	w.produce(1, createCollection(200), insertInto(200, 9, 2, 10))
	l := w.start().until(0, 2).until(1, 2)
	got, err := l.Flush(within(t), Selector{Collection: "200"}, true)
	if err != nil || len(got.VChannels) != 1 || got.VChannels[0].VChannel != vchannel(1) || got.VChannels[0].Segments != 1 || !got.Whole(true) {
		t.Errorf("of collection 200: %+v, %v", got, err)
	}
	// Both are called c.
	if _, err := l.Flush(within(t), Selector{Collection: "c"}, true); !errors.Is(err, ErrAmbiguous) || !strings.Contains(err.Error(), "100 200") {
		t.Errorf("of a name that two have: %v", err)
	}
	got, err = l.Flush(within(t), Selector{Collection: "c", VChannels: []string{vchannel(0)}}, true)
	if err != nil || len(got.VChannels) != 1 || got.VChannels[0].Rows != 1 {
		t.Errorf("of a name in one vchannel: %+v, %v", got, err)
	}
	l.stop()
	w.exact(archive.CheckOptions{})
}

func TestARequestForWhatIsNotThereIsRefused(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10))
	l := w.start().until(0, 2)
	for _, c := range []struct {
		s    Selector
		want error
	}{
		{Selector{}, ErrSelector},
		{Selector{All: true, Collection: "c"}, ErrSelector},
		{Selector{VChannels: []string{""}}, ErrSelector},
		{Selector{VChannels: []string{"other-0"}}, ErrNotHere},
		{Selector{Collection: "none"}, ErrNoCollection},
		{Selector{Collection: "12"}, ErrNoCollection},
	} {
		if _, err := l.Flush(within(t), c.s, true); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c.s, err)
		}
	}
	if _, err := l.Pause(within(t), Selector{Collection: "c"}, "me"); !errors.Is(err, ErrWholePartition) {
		t.Errorf("a pause of a collection: %v", err)
	}
	if d := w.document(0); d.Seek.Offset > 1 {
		t.Errorf("something was flushed: %+v", d)
	}
	got, err := l.Flush(within(t), Selector{VChannels: []string{"other-0", vchannel(0)}}, true)
	if err != nil || !slices.Equal(got.NotHere, []string{"other-0"}) || got.Whole(true) || got.VChannels[0].Rows != 1 {
		t.Errorf("one of two is here: %+v, %v", got, err)
	}
	l.stop()
	w.produce(0, garbage) // for the next worker alone
	stopped := w.start(func(c *Config) { c.StopOnBad = true })
	stopped.has(0, "stopped")
	if _, err := stopped.Seal(within(t), all, true); !errors.Is(err, ErrNotRunning) || !strings.Contains(err.Error(), vchannel(0)) {
		t.Errorf("of a vchannel that is stopped: %v", err)
	}
	stopped.kill()
}

func TestASealMakesManifestsAndLaterRowsGoElsewhere(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10), insert(0, 2, 10), deleteKey(1))
	l := w.start().until(0, 4)
	got, err := l.Seal(within(t), Selector{Collection: "c"}, true)
	if err != nil || !got.Whole(true) || got.VChannels[0].Segments != 3 || got.VChannels[0].Unsealed != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	until(t, "the manifests are written", func() bool { return len(w.bucket.Keys("segments/")) == 3 })
	w.produce(0, insert(7, 3, 10), insert(0, 4, 10), deleteKey(2))
	l.until(0, 7)
	l.kill()
	l = w.start().until(0, 7) // reads the late rows again, and knows the segment from its manifest
	l.stop()
	w.exact(archive.CheckOptions{})
	if n := l.metric("flowgraph_rerouted_rows_total"); n != 1 {
		t.Errorf("%v rows were rerouted", n)
	}
}

func TestTwoRequestsAtOnceAreBothAnswered(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10))
	l := w.start().until(0, 2)
	var group sync.WaitGroup
	answers := make(chan Outcome, 8)
	for i := range 8 {
		group.Go(func() {
			ask := l.Flush
			if i%2 == 1 {
				ask = l.Seal
			}
			got, err := ask(within(t), all, true)
			if err != nil || !got.Whole(true) {
				t.Errorf("%+v, %v", got, err)
			}
			answers <- got
		})
	}
	group.Wait()
	close(answers)
	var rows int64
	for a := range answers {
		rows += a.VChannels[0].Rows
	}
	if d := w.document(0); rows != 1 || d.Seek.Offset != 2 {
		t.Errorf("%d rows in all answers, seek position %d", rows, d.Seek.Offset)
	}
	l.stop()
	w.exact(archive.CheckOptions{})
}

// A store that is away holds the answer up, and not for ever: neither files nor
// the checkpoint are there before they are told to be.
func TestARequestThatIsNotWaitedForIsObeyedLater(t *testing.T) {
	for _, prefix := range []string{"insert_log/", "checkpoints/"} {
		w := newWorld(t, 1)
		w.produce(0, createCollection(collectionID), insert(7, 1, 10))
		l := w.start().until(0, 2)
		until(t, "the position is committed", func() bool { return l.status(0).Seek == 1 })
		hung := w.hold(membucket.Put, prefix)
		ctx, giveUp := context.WithCancel(within(t))
		answered := make(chan Outcome)
		go func() {
			got, _ := l.Flush(ctx, all, true)
			answered <- got
		}()
		until(t, "the flush hangs", hung.waits)
		if got, err := l.Flush(within(t), all, false); err != nil || !got.Whole(false) || got.VChannels[0].Committed {
			t.Errorf("%s: asked again %+v, %v", prefix, got, err)
		}
		giveUp()
		if got := <-answered; !got.VChannels[0].Done || got.VChannels[0].Committed || got.Whole(true) || !got.Whole(false) {
			t.Errorf("%s: %+v", prefix, got)
		}
		hung.open()
		until(t, "it is committed", func() bool { return l.status(0).Seek == 2 })
		l.stop()
		w.exact(archive.CheckOptions{})
	}
}

func TestAFlowThatEndsAnswersWhoeverWaits(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10))
	l := w.start().until(0, 2)
	hung := w.hold(membucket.Put, "insert_log/")
	answered := make(chan Outcome)
	go func() {
		got, _ := l.Flush(within(t), all, true)
		answered <- got
	}()
	until(t, "the flush hangs", hung.waits)
	l.die()
	if got := <-answered; got.VChannels[0].Committed || got.VChannels[0].Error != errEnded.Error() {
		t.Errorf("%+v", got)
	}
	l.kill()
	w.bucket.Before(nil)
	w.start().until(0, 2).stop()
	w.exact(archive.CheckOptions{})
}

// Whoever asks again and again must not fill memory while a flow hangs.
func TestRequestsDoNotPileUp(t *testing.T) {
	m := newMailbox(&Account{budget: NewBudget(1 << 20)})
	var err error
	for n := 0; err == nil; n++ {
		if n > requestsMost {
			t.Fatal("they pile up")
		}
		_, err = m.Request(flushAll)
	}
	if !errors.Is(err, errCrowded) {
		t.Error(err)
	}
	for raw := m.take(0); raw != nil; raw = m.take(0) {
		m.obeyed(raw.Request, Done{})
	}
	if _, err := m.Request(flushAll); err != nil {
		t.Error(err)
	}
	m.end()
	if _, err := m.Request(flushAll); !errors.Is(err, errEnded) {
		t.Error(err)
	}
}
