package flows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
)

// small buffers cut often.
func small(c *Config) { c.Limits.FlushBytes, c.MemoryBudget = 256<<10, 16<<20 }

// pass waits until the group has answered heartbeats over so long a time.
func (l *life) pass(d time.Duration) {
	l.t.Helper()
	begin := time.Now()
	until(l.t, "heartbeats were answered", func() bool { return l.heartbeat.after(begin.Add(d)) })
}

// The store is down for longer than the group's session: reading pauses, the
// member stays, and what comes out is exact.
func TestAStoreThatIsDownPausesReadingAndEvictsNobody(t *testing.T) {
	w := newWorld(t, 4)
	for p := range int32(4) {
		w.produce(p, createCollection(collectionID))
		w.produce(p, inserts(int64(10+p), int64(10000*p), 100, 60000)...)
	}
	down := w.hold(membucket.Put, "insert_log/")
	l := w.start(small)
	until(t, "reading pauses", func() bool { return l.shared.Budget.Over() > 0 })
	l.pass(l.cfg.SessionTimeout) // what was fetched or on its way arrives
	used := l.shared.Budget.Used()
	l.pass(2 * l.cfg.SessionTimeout)
	if now := l.shared.Budget.Used(); now > used {
		t.Errorf("memory grew from %d to %d bytes while the store was down", used, now)
	}
	if n := l.metric("flowgraph_rebalances_total"); n != 1 {
		t.Errorf("%g changes of the assignment, want 1", n)
	}
	if n := l.metric("flowgraph_vchannel_stopped"); n != 0 {
		t.Errorf("%g vchannels stopped", n)
	}
	down.open()
	for p := range int32(4) {
		l.until(p, 101)
	}
	l.stop()
	w.exact(archive.CheckOptions{})
	if n := l.metric("flowgraph_memory_used_bytes"); n != 0 {
		t.Errorf("%g bytes of the budget are still taken", n)
	}
	if n := l.metric("flowgraph_flow_restarts_total"); n != 0 {
		t.Errorf("%g restarts", n)
	}
}

// A store that denies one collection's prefix stops nobody else; the vchannel
// that lags is paused alone, and goes on also if it was given away meanwhile.
func TestADeniedPrefixHoldsUpItsVChannelAlone(t *testing.T) {
	const denied, rows = collectionID + 1, 600
	w := newWorld(t, 2)
	w.produce(0, createCollection(denied))
	var backlog [][]byte
	for i := range int64(rows) {
		backlog = append(backlog, insertInto(denied, 10+i%10, i, 60000))
	}
	w.produce(0, backlog...)
	closed := w.hold(membucket.Put, fmt.Sprintf("insert_log/%d/", denied))
	l := w.startWith(func(w *Worker) { w.patience.revoke = 100 * time.Millisecond }, func(c *Config) {
		c.Limits.FlushBytes, c.MemoryBudget = 50000, 64<<20
	})
	l.has(0, "running")
	until(t, "the vchannel is paused", func() bool { return len(l.client.PauseFetchPartitions(nil)) > 0 && closed.waits() })
	w.produce(1, createCollection(collectionID))
	w.produce(1, inserts(7, 1000, 40, 60000)...)
	until(t, "the other vchannel's rows are stored", func() bool { return l.status(1).Seek > 35 })
	if paused := l.client.PauseFetchPartitions(nil); fmt.Sprint(paused) != fmt.Sprint(map[string][]int32{topic: {0}}) {
		t.Errorf("paused: %v", paused)
	}
	other := w.start(small)
	share(l, other, 1, 1)
	closed.open()
	other.stop()
	share(l, other, 2, 0)
	l.until(0, rows+1).stop()
	w.exact(archive.CheckOptions{Partial: true}) // what was under way when it was given away may lie there
}

// A document that the store refuses is tried ten times; then the process is
// to end.
func TestRefusedCommitsEndTheWorker(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID))
	l := w.start().until(0, 1)
	before := w.document(0)
	w.bucket.Before(refuse(membucket.Put, "checkpoints/"))
	w.produce(0, insert(7, 1, 10))
	l.drain()
	err := l.wait()
	if !errors.Is(err, checkpoints.ErrRefused) {
		t.Errorf("the error is %v", err)
	}
	calls := w.bucket.Calls(membucket.Put, "checkpoints/")
	if n := calls[len(calls)-1].Condition.Refusals; n != 10 {
		t.Errorf("a refused document is tried %d times", n)
	}
	w.bucket.Before(nil)
	if d := w.document(0); d.Sequence != before.Sequence {
		t.Error("the document moved")
	}
	w.start().until(0, 2).stop()
	w.exact(archive.CheckOptions{})
}

func TestRefusedCommitsEndARunningWorker(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID))
	l := w.startWith(eager).until(0, 1)
	w.bucket.Before(refuse(membucket.Put, "checkpoints/"))
	w.produce(0, insert(7, 1, 10))
	if err := l.wait(); !errors.Is(err, checkpoints.ErrRefused) {
		t.Errorf("the error is %v", err)
	}
}

// eager commits every movement at once.
func eager(w *Worker) { w.shared.Options.MinInterval, w.shared.Options.PositionInterval = 1, 1 }

// A refused read is no refused commit: the vchannel waits, others go on.
func TestADeniedManifestHoldsUpItsVChannelAlone(t *testing.T) {
	w := newWorld(t, 2)
	w.bucket.Before(refuse(membucket.Get, "segments/"))
	w.produce(0, createCollection(collectionID), insert(7, 1, 10))
	w.produce(1, createCollection(collectionID), tick(5))
	l := w.start().until(1, 2)
	until(t, "the flow starts again and again", func() bool { return l.metric("flowgraph_flow_restarts_total") > 2 })
	w.bucket.Before(nil)
	l.until(0, 2).stop()
	w.exact(archive.CheckOptions{})
}

// Of statistics that are lost nothing is lost: the keys are there.
func TestLostStatisticsOfKeysStopAVChannel(t *testing.T) {
	w := newWorld(t, 1)
	w.bucket.Before(func(_ context.Context, c membucket.Call) error {
		if c.Op == membucket.Get && strings.HasPrefix(c.Key, "stats_log/") {
			return checkpoints.ErrNotExist
		}
		return nil
	})
	w.produce(0, createCollection(collectionID), insert(7, 1, 10), insert(0, 2, 10))
	l := w.start().until(0, 3)
	if got, err := l.Seal(within(t), Selector{Collection: "c"}, true); err != nil || !got.Whole(true) {
		t.Fatalf("%+v, %v", got, err)
	}
	until(t, "the manifests are written", func() bool { return len(w.bucket.Keys("segments/")) == 2 })
	if n := l.metric("flowgraph_rebuilt_key_statistics_total"); n != 2 {
		t.Errorf("%v were made anew", n)
	}
	l.stop()
	w.bucket.Before(nil)
	w.exact(archive.CheckOptions{}) // that of the whole segments holds every key
}

// What cannot be read is never taken for a fresh start.
func TestAnUnreadableDocumentNeverStartsAfresh(t *testing.T) {
	key := checkpoints.DocumentKey(vchannel(0))
	for name, spoil := range map[string]func(*world){
		"403":       func(w *world) { w.bucket.Before(refuse(membucket.Get, key)) },
		"404":       func(w *world) { w.bucket.Remove(key) }, // it was there once
		"truncated": func(w *world) { data := w.bucket.Data(key); w.bucket.Set(key, data[:len(data)/2]) },
		"empty":     func(w *world) { w.bucket.Set(key, nil) },
		"half a position": func(w *world) {
			w.bucket.Set(key, []byte(strings.Replace(string(w.bucket.Data(key)), `"read_from"`, `"read_form"`, 1)))
		},
		"end before start": func(w *world) {
			d := w.document(0)
			for _, s := range d.Segments {
				s.Start.Offset = s.End.Offset + 5
			}
			data, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			w.bucket.Set(key, data)
		},
		"newer version": func(w *world) {
			w.bucket.Set(key, []byte(strings.Replace(string(w.bucket.Data(key)), `"version":1`, `"version":99`, 1)))
		},
		"time-out": func(w *world) { w.hold(membucket.Get, key) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 2)
			w.produce(0, createCollection(collectionID), insert(7, 1, 10))
			w.produce(1, createCollection(collectionID))
			w.start().until(0, 2).until(1, 1).stop()
			w.produce(0, insert(7, 2, 10))
			w.produce(1, insert(8, 100, 10))
			spoil(w)
			files, stored := len(w.bucket.Keys("insert_log/")), string(w.bucket.Data(key))
			l := w.start().until(1, 2)
			switch name {
			case "403":
				until(t, "it is tried again", func() bool { return l.metric("flowgraph_flow_restarts_total") > 2 })
				if s := l.status(0); s.State != "waiting" || !strings.Contains(s.Error, vchannel(0)) {
					t.Errorf("the state is %s, and the error does not name the vchannel: %q", s.State, s.Error)
				}
			case "time-out":
				if s := l.status(0); s.State != "claiming" || l.Ready() {
					t.Errorf("the state is %s, ready: %t", s.State, l.Ready())
				}
			default:
				if s := l.has(0, "stopped"); !strings.Contains(s.Error, vchannel(0)) {
					t.Errorf("the error does not name the vchannel: %q", s.Error)
				}
			}
			if n := l.shared.Budget.Used(); l.status(0).Buffered != 0 {
				t.Errorf("it reads all the same: %d bytes", n)
			}
			l.kill()
			w.bucket.Before(nil)
			if n := len(w.bucket.Keys("insert_log/")); n != files {
				t.Errorf("%d files were written", n-files)
			}
			if now := string(w.bucket.Data(key)); now != stored {
				t.Errorf("the document was replaced: %s", now)
			}
		})
	}
}

// An object of somebody else under the key is never overwritten.
func TestAConflictNamesTheKeyAndTheNextLifeIsExact(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10))
	key := checkpoints.InsertLogKey(collectionID, partitionID, 7, 101, "100000010000000001")
	w.bucket.Set(key, []byte("somebody else's"))
	l := w.start(func(c *Config) { c.Limits.FlushAge = 1 })
	until(t, "the flow dies", func() bool { return l.metric("flowgraph_flow_restarts_total") > 0 })
	if !l.log.has(key) {
		t.Errorf("the log does not name %s", key)
	}
	until(t, "the next one stores the rows", func() bool { return l.status(0).Seek == 2 })
	l.stop()
	w.bucket.Remove(key)
	w.exact(archive.CheckOptions{Partial: true})
}
