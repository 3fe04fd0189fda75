package checkpoints_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"flowgraph/checkpoints"
	"flowgraph/internal/membucket"
)

func TestAPositionNeverPassesAnUnfinishedFlush(t *testing.T) {
	b := membucket.New()
	l := begin(t, b)
	first, second, third := l.rows(segment(1, 0, 3), 3), l.rows(segment(2, 3, 5), 2), moved(9, nil)
	l.tracker.Ack(3, third)
	l.tracker.Ack(2, second)
	l.flush()
	if d := l.stored(); d.Seek.Offset != 0 || len(d.Segments) != 0 {
		t.Fatalf("stored before the first flush: %s", asJSON(d))
	}
	if s := l.tracker.Status(); s.Next != 1 || s.Waiting != 2 || s.Seek.Offset != 0 {
		t.Errorf("status %+v", s)
	}
	l.tracker.Ack(1, first)
	l.flush()
	if d := l.stored(); d.Seek.Offset != 9 || len(d.Segments) != 2 {
		t.Errorf("stored %s", asJSON(d))
	}
	if s := l.tracker.Status(); s.Next != 4 || s.Waiting != 0 || s.Seek.Offset != 9 || s.Segments != 2 {
		t.Errorf("status %+v", s)
	}
}

func TestTheOrderOfAcksDoesNotShowInTheDocument(t *testing.T) {
	want := ""
	for seed := range uint64(20) {
		b := membucket.New()
		l := begin(t, b)
		var changes []checkpoints.Change
		for i := range int64(30) {
			changes = append(changes, l.rows(segment(1+i%4, i%4, 4+i), 1))
		}
		changes = append(changes, event(checkpoints.Event{Kind: checkpoints.AlterCollection, Offset: 40, Schema: []byte("v2")}))
		for _, i := range rand.New(rand.NewPCG(seed, 1)).Perm(len(changes)) {
			l.tracker.Ack(uint64(i+1), changes[i])
			if i%7 == 0 {
				l.flush()
			}
		}
		l.flush()
		d := l.stored()
		d.Owner, d.Sequence = "", 0
		if got := asJSON(d); want == "" {
			want = got
		} else if got != want {
			t.Fatalf("seed %d:\n%s\n%s", seed, got, want)
		}
	}
}

func TestAContradictionEndsTheFlowBeforeItIsStored(t *testing.T) {
	for name, ack := range map[string]func(*life){
		"rows after the last flush": func(l *life) { l.ack(l.last(segment(1, 0, 3), 1)); l.ack(l.rows(segment(1, 3, 5), 1)) },
		"acknowledged twice":        func(l *life) { l.ack(moved(2, nil)); l.tracker.Ack(1, moved(2, nil)) },
		"waiting twice":             func(l *life) { l.tracker.Ack(5, moved(2, nil)); l.tracker.Ack(5, moved(2, nil)) },
	} {
		b := membucket.New()
		l := begin(t, b)
		ack(l)
		if err := l.tracker.Run(t.Context()); !errors.Is(err, checkpoints.ErrChange) {
			t.Errorf("%s: Run returns %v", name, err)
		}
		if err := l.tracker.Flush(t.Context()); !errors.Is(err, checkpoints.ErrChange) {
			t.Errorf("%s: Flush returns %v", name, err)
		}
		if d := l.stored(); d.Sequence != 0 {
			t.Errorf("%s: stored %s", name, asJSON(d))
		}
	}
}

// running is a life whose tracker runs in a synctest bubble.
func running(t *testing.T, b *membucket.Bucket, o checkpoints.Options) (*life, func() error) {
	l := beginWith(t, b, o)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.tracker.Run(ctx) }()
	synctest.Wait()
	return l, func() error { cancel(); return <-done }
}

// clock notes when documents are put.
type clock struct {
	mu    sync.Mutex
	start time.Time
	times []time.Duration
}

func (c *clock) hook(_ context.Context, call membucket.Call) error {
	if call.Op == membucket.Put && call.Key == checkpoints.DocumentKey(v0.Name()) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.times = append(c.times, time.Since(c.start))
	}
	return nil
}

// restart returns the times noted and begins anew.
func (c *clock) restart() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	times := c.times
	c.start, c.times = time.Now(), nil
	return times
}

func TestTheFirstChangeAfterQuietIsStoredAtOnceTheNextOnesAtARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membucket.New()
		l, stop := running(t, b, checkpoints.DefaultOptions())
		c := new(clock)
		b.Before(c.hook)
		c.restart()
		for i := range int64(10) { // flushes every 50 ms
			l.ack(l.rows(segment(1, 0, i+1), 1))
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(time.Second)
		want := []time.Duration{0, 200 * time.Millisecond, 400 * time.Millisecond, 600 * time.Millisecond}
		if times := c.restart(); !slices.Equal(times, want) {
			t.Errorf("flushes committed at %v, want %v", times, want)
		}
		for i := range int64(350) { // positions every 100 ms
			l.ack(moved(20+i, nil))
			time.Sleep(100 * time.Millisecond)
		}
		want = []time.Duration{9100 * time.Millisecond, 29100 * time.Millisecond} // 10 s and 20 s after the one before
		if times := c.restart(); !slices.Equal(times, want) {
			t.Errorf("positions committed at %v, want %v", times, want)
		}
		urgent := moved(1000, nil)
		urgent.Urgent = true
		l.ack(urgent)
		synctest.Wait()
		if d := l.stored(); d.Seek.Offset != 1000 {
			t.Errorf("an urgent change waits: %d", d.Seek.Offset)
		}
		if err := stop(); !errors.Is(err, context.Canceled) {
			t.Errorf("run: %v", err)
		}
	})
}

func TestAVChannelOfTicksAloneIsStoredOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membucket.New()
		l, stop := running(t, b, checkpoints.DefaultOptions())
		ticks := func(from int64, span time.Duration) (documents int) {
			before := len(b.Calls(membucket.Put, checkpoints.DocumentKey(v0.Name())))
			for i := range int64(span / (200 * time.Millisecond)) {
				l.ack(moved(from+i, nil))
				time.Sleep(200 * time.Millisecond)
			}
			return len(b.Calls(membucket.Put, checkpoints.DocumentKey(v0.Name()))) - before
		}
		if n := ticks(1, 10*time.Minute); n > 13 {
			t.Errorf("%d documents in ten minutes of ticks", n)
		}
		if n := ticks(10_000, time.Hour); n > 61 {
			t.Errorf("%d documents in an hour of ticks", n)
		}
		time.Sleep(time.Second)
		l.ack(l.rows(segment(1, 0, 40_000), 1))
		synctest.Wait()
		if n := ticks(40_001, 11*time.Second); n != 1 {
			t.Errorf("%d documents in the ten seconds after a flush", n)
		}
		stop()
	})
}

func TestAPositionThatBufferedRowsHoldIsNotStoredAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membucket.New()
		l, stop := running(t, b, checkpoints.DefaultOptions())
		met := moved(4, nil)
		met.New = []checkpoints.Segment{segment(1, 4, 0)}
		l.ack(met)
		time.Sleep(2 * time.Minute)
		before := len(b.Calls(membucket.Put, ""))
		for i := range 600 { // what a buffer emits with rows in it, now and then after a silence
			held := moved(4, nil)
			held.Urgent = i%10 == 0
			l.ack(held)
			time.Sleep(time.Second)
		}
		if calls := b.Calls(membucket.Put, "")[before:]; len(calls) > 0 {
			t.Errorf("%d puts though nothing changed, first %s", len(calls), calls[0].Key)
		}
		if s := l.tracker.Status(); s.Committed != s.Next {
			t.Errorf("the cuts before %d are called stored, and %d changed nothing", s.Committed, s.Next-s.Committed)
		}
		stop()
	})
}

func TestAnUrgentCutTakesAlongWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membucket.New()
		l, stop := running(t, b, checkpoints.DefaultOptions())
		l.ack(l.rows(segment(1, 0, 3), 1))
		synctest.Wait()
		l.ack(moved(4, nil)) // would wait for ten seconds
		urgent := moved(4, nil)
		urgent.Urgent = true
		l.ack(urgent)
		synctest.Wait()
		if d := l.stored(); d.Seek.Offset != 4 {
			t.Errorf("stored position %d", d.Seek.Offset)
		}
		stop()
	})
}

func TestAChangeWaitsAtMostAMinuteWhateverDocumentsCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membucket.New()
		store, doc, err := checkpoints.Claim(t.Context(), b, v0, 0)
		if err != nil {
			t.Fatal(err)
		}
		pace := checkpoints.NewPace()
		pace.Spend(1 << 40) // by the worker's other vchannels
		tracker := checkpoints.NewTracker(store, doc, pace, checkpoints.DefaultOptions())
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- tracker.Run(ctx) }()
		l := &life{t: t, bucket: b, names: store.Names(), tracker: tracker}
		l.ack(l.rows(segment(1, 0, 1), 1))
		time.Sleep(59 * time.Second)
		if d := l.stored(); d.Sequence != 0 {
			t.Error("documents cost more than their share")
		}
		time.Sleep(2 * time.Second)
		if d := l.stored(); d.Seek.Offset != 1 {
			t.Errorf("not stored after a minute: %s", asJSON(d))
		}
		cancel()
		<-done
	})
}

func TestPaceIsTheLargerOfRateAndShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := checkpoints.NewPace()
		if d := p.Delay(); d != 0 {
			t.Errorf("the first document waits %v", d)
		}
		p.Spend(1_000_000)
		if d := p.Delay(); d != 10*time.Second {
			t.Errorf("1 MB is paid for after %v, want 10 s", d)
		}
		p.Flushed(50_000_000)
		if d := p.Delay(); d != 10*time.Second {
			t.Errorf("half paid for by data: %v, want 10 s", d)
		}
		p.Flushed(50_000_000)
		if d := p.Delay(); d != 0 {
			t.Errorf("100 MB flushed: a document waits %v", d)
		}
		time.Sleep(2 * time.Second)
		p.Spend(12_000_000)
		time.Sleep(90 * time.Second) // a debt outlives the window, credit does not
		if d := p.Delay(); d < 29*time.Second || d > 31*time.Second {
			t.Errorf("after 90 s of 120 the delay is %v", d)
		}
		time.Sleep(time.Hour)
		p.Spend(100_000)
		if d := p.Delay(); d != time.Second {
			t.Errorf("after an idle hour the delay is %v, want 1 s", d)
		}
	})
}

func TestOneCommitIsInFlightAndTheNewestStateWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membucket.New()
		o := checkpoints.DefaultOptions()
		var told []int64
		o.Committed = func(c checkpoints.Commit) { told = append(told, c.Seek.Offset) }
		l, stop := running(t, b, o)
		var flying, most atomic.Int32
		b.Before(func(context.Context, membucket.Call) error {
			most.Store(max(most.Load(), flying.Add(1)))
			time.Sleep(3 * time.Second)
			flying.Add(-1)
			return nil
		})
		for i := range int64(20) {
			l.ack(moved(i+1, &checkpoints.Flush{Segment: segment(1, 0, i+1), Log: &checkpoints.Log{ID: l.names.LogID(), Rows: 1}}))
			time.Sleep(210 * time.Millisecond)
		}
		if s := l.tracker.Status(); s.CommitSince.IsZero() || s.DirtySince.IsZero() {
			t.Errorf("status of a slow commit: %+v", s)
		}
		l.flush() // while Run runs
		if most.Load() != 1 {
			t.Errorf("%d calls at a time", most.Load())
		}
		if err := stop(); !errors.Is(err, context.Canceled) {
			t.Errorf("run: %v", err)
		}
		if !slices.Equal(told, []int64{1, 16, 20}) {
			t.Errorf("commits told: %v", told)
		}
	})
}

func TestEntriesLeaveWithinAMinuteAlsoFromAQuietVChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membucket.New()
		l, stop := running(t, b, checkpoints.DefaultOptions())
		l.ack(l.last(segment(1, 0, 1), 1))
		time.Sleep(time.Second)
		if b.Data(manifest1) == nil || l.stored().Segments[1] == nil {
			t.Errorf("keys %v, document %s", b.Keys(""), asJSON(l.stored()))
		}
		time.Sleep(time.Minute)
		if d := l.stored(); d.Segments[1] != nil || d.Sequence != 2 {
			t.Errorf("document %s", asJSON(d))
		}
		stop()
	})
}

func TestADeniedManifestDoesNotHoldThePosition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membucket.New()
		l, stop := running(t, b, checkpoints.DefaultOptions())
		b.Before(func(ctx context.Context, c membucket.Call) error {
			if c.Key == manifest1 {
				<-ctx.Done() // refused for as long as it is asked
				return context.Cause(ctx)
			}
			return nil
		})
		l.ack(l.last(segment(1, 0, 1), 1))
		time.Sleep(time.Minute)
		l.ack(l.rows(segment(2, 1, 9), 1))
		time.Sleep(time.Minute)
		if d := l.stored(); d.Seek.Offset != 9 || d.Segments[1] == nil {
			t.Errorf("document %s", asJSON(d))
		}
		// A drain within its limit: what matters is stored, the rest waits.
		l.ack(moved(12, nil))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.tracker.Flush(ctx); err != nil || l.stored().Seek.Offset != 12 {
			t.Errorf("flush: %v, document %s", err, asJSON(l.stored()))
		}
		stop()
		b.Before(nil)
		next := begin(t, b)
		next.flush()
		ctx, cancel = context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- next.tracker.Run(ctx) }()
		time.Sleep(2 * time.Minute)
		cancel()
		<-done
		if d := next.stored(); d.Segments[1] != nil || b.Data(manifest1) == nil {
			t.Errorf("the next life leaves %s", asJSON(d))
		}
	})
}

func TestACommitCutShortByTheEndIsMadeByFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membucket.New()
		l, stop := running(t, b, checkpoints.DefaultOptions())
		b.After(func(ctx context.Context, c membucket.Call) error {
			if c.Op == membucket.Put {
				<-ctx.Done() // stored, but nobody hears of it
				return context.Cause(ctx)
			}
			return nil
		})
		l.ack(l.rows(segment(1, 0, 1), 1))
		synctest.Wait()
		if err := stop(); !errors.Is(err, context.Canceled) {
			t.Errorf("run: %v", err)
		}
		b.After(nil)
		l.ack(moved(5, nil))
		l.flush()
		if d := l.stored(); d.Seek.Offset != 5 || d.Sequence != 2 {
			t.Errorf("document %s", asJSON(d))
		}
	})
}

func TestRandomFaultsNeverShowAnotherStateThanTheAcked(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { randomLife(t, seed) })
	}
}

// randomLife acks in random order under commits that are lost on the way, land
// late or lose their reply, and checks every stored version.
func randomLife(t *testing.T, seed uint64) {
	g := rand.New(rand.NewPCG(seed, 9))
	b := membucket.New()
	o := checkpoints.DefaultOptions()
	o.FoldAbove = 1500
	l := beginWith(t, b, o)
	var late []membucket.Call
	end := map[int64]bool{0: true} // seek positions that some prefix of the cuts has
	order := g.Perm(60)
	changes := make([]checkpoints.Change, len(order))
	for i := range changes {
		id, to := int64(1+i/6), int64(i+1)
		if changes[i] = l.rows(segment(id, 0, to), 1); i%6 == 5 {
			changes[i].Flush.Sealed = true
		}
		end[to] = true
	}
	seek := int64(0)
	for _, i := range order {
		l.tracker.Ack(uint64(i+1), changes[i])
		ctx, cancel := context.WithCancel(t.Context())
		fault := g.IntN(4)
		hook := func(when int) membucket.Hook {
			return func(_ context.Context, c membucket.Call) error {
				if c.Op != membucket.Put || fault != when {
					return nil
				}
				if when == 1 && g.IntN(2) == 0 {
					late = append(late, c)
				}
				cancel()
				return context.Canceled
			}
		}
		b.Before(hook(1))
		b.After(hook(2))
		err := l.tracker.Flush(ctx)
		b.Before(nil)
		b.After(nil)
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if len(late) > 0 && g.IntN(2) == 0 { // in any order, or never
			c := late[g.IntN(len(late))]
			_, _ = b.Put(t.Context(), c.Key, checkpoints.Object{Parts: [][]byte{c.Data}}, c.Condition)
		}
		d := l.stored()
		if d.Seek.Offset < seek || !end[d.Seek.Offset] {
			t.Fatalf("seek position %d after %d", d.Seek.Offset, seek)
		}
		seek = d.Seek.Offset
		checkRows(t, b, seek)
	}
	l.flush()
	checkRows(t, b, 60)
	if d := l.stored(); len(d.Segments) != 0 {
		t.Errorf("left: %s", asJSON(d))
	}
}

// checkRows reads what the document and the manifests refer to: one row for
// each offset below seek.
func checkRows(t *testing.T, b *membucket.Bucket, seek int64) {
	t.Helper()
	segments := stored(t, b).Segments
	for id := range int64(11) {
		ref := checkpoints.SegmentRef{Collection: collection, Partition: partition, Segment: id}
		if m, err := checkpoints.LoadManifest(t.Context(), b, ref); err == nil {
			segments[id] = &m.Segment
		} else if !errors.Is(err, checkpoints.ErrNotExist) {
			t.Fatal(err)
		}
	}
	rows := int64(0)
	for _, s := range segments {
		logs, _, err := checkpoints.LoadLogs(t.Context(), b, s)
		if err != nil {
			t.Fatal(err)
		}
		rows += int64(len(logs))
	}
	if rows != seek {
		t.Fatalf("%d rows below %d", rows, seek)
	}
}

// Whoever asks for a flush is told that it is stored by this alone.
func TestACutThatIsNotStoredIsCalledCommitted(t *testing.T) {
	b := membucket.New()
	l := begin(t, b)
	l.ack(l.rows(segment(1, 0, 1), 1))
	want := func(when string, next uint64) {
		t.Helper()
		if s := l.tracker.Status(); s.Committed != next {
			t.Errorf("%s the cuts before %d are called committed, want those before %d", when, s.Committed, next)
		}
	}
	want("before any commit", 1)
	acked := false
	b.Before(func(_ context.Context, c membucket.Call) error {
		if c.Op == membucket.Put && !acked {
			acked = true
			l.ack(l.rows(segment(1, 0, 2), 1))
			want("during the commit", 1)
		}
		return nil
	})
	l.flush()
	want("after the commit of the first", 2)
	l.flush()
	want("after the commit of both", 3)
}

// While buffered rows hold the position, what else changes is stored all the
// same.
func TestAChangeUnderAHeldPositionIsNotStored(t *testing.T) {
	l := begin(t, membucket.New())
	held := func(c checkpoints.Change, readFrom int64) *checkpoints.Document {
		c.Seek, c.ReadFrom = at(4), at(readFrom)
		l.ack(c)
		l.flush()
		return l.stored()
	}
	held(checkpoints.Change{}, 1)
	if d := held(checkpoints.Change{}, 3); d.ReadFrom.Offset != 3 {
		t.Errorf("read_from is %d", d.ReadFrom.Offset)
	}
	if d := held(checkpoints.Change{New: []checkpoints.Segment{segment(1, 4, 0)}}, 3); d.Segments[1] == nil {
		t.Error("a segment that was met is missing")
	}
	if d := held(event(checkpoints.Event{Kind: checkpoints.CreatePartition, Offset: 7, Partition: 102}), 3); d.Collections[collection].LastDDL != 7 {
		t.Errorf("an event is missing: %s", asJSON(d.Collections))
	}
}
