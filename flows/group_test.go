package flows

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
)

// owns lists the partitions that a worker has.
func (l *life) owns() []int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ids []int32
	for p := range l.parts {
		ids = append(ids, p.id)
	}
	return ids
}

// share waits until two workers have so many partitions each.
func share(a, b *life, n, m int) {
	a.t.Helper()
	until(a.t, fmt.Sprintf("%d and %d partitions are given out", n, m), func() bool { return len(a.owns()) == n && len(b.owns()) == m })
}

// What is given away was stored before: the next owner reads nothing again.
func TestARevokedPartitionDrainsBeforeItIsGivenAway(t *testing.T) {
	w := newWorld(t, 2)
	for p := range int32(2) {
		w.produce(p, createCollection(collectionID))
		w.produce(p, inserts(int64(10+p), int64(1000*p), 10, 100)...)
	}
	a := w.start().until(0, 11).until(1, 11)
	b := w.start()
	share(a, b, 1, 1)
	given := b.owns()[0]
	b.until(given, 11)
	if s := b.status(given); s.Seek != 11 || s.Epoch != 2 {
		t.Errorf("the new owner begins at %d, epoch %d", s.Seek, s.Epoch)
	}
	if k := w.groupOffset(given); k != 11 {
		t.Errorf("the group was told %d", k)
	}
	b.stop()
	if n := b.metric("flowgraph_filtered_rows_total"); n != 0 {
		t.Errorf("%g rows were read again", n)
	}
	share(a, b, 2, 0)
	a.stop()
	w.exact(archive.CheckOptions{})
}

// The series of a vchannel end when it is given away, and come back with it.
func TestSeriesOfAVChannelEndWhenItIsGivenAway(t *testing.T) {
	w := newWorld(t, 2)
	a := w.start().until(0, 0).until(1, 0)
	series := func(l *life) (names []string) {
		families, err := l.registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if f.GetName() == "flowgraph_vchannel_epoch" {
					names = append(names, m.GetLabel()[0].GetValue())
				}
			}
		}
		return names
	}
	both := []string{vchannel(0), vchannel(1)}
	if s := series(a); strings.Join(s, " ") != strings.Join(both, " ") {
		t.Fatalf("series of %q", s)
	}
	b := w.start()
	share(a, b, 1, 1)
	b.until(b.owns()[0], 0)
	if s := append(series(a), series(b)...); len(s) != 2 || s[0] == s[1] {
		t.Errorf("series of %q", s)
	}
	b.stop()
	share(a, b, 2, 0)
	a.until(0, 0).until(1, 0)
	if s := series(a); strings.Join(s, " ") != strings.Join(both, " ") {
		t.Errorf("series of %q", s)
	}
	if s := series(b); len(s) > 0 {
		t.Errorf("series of %q after the end", s)
	}
	a.stop()
}

// A late upload finishes after its partition was given away: nothing of it
// may reach the document or the group.
func TestNothingIsWrittenAfterAPartitionWasGivenAway(t *testing.T) {
	w := newWorld(t, 2)
	for p := range int32(2) {
		w.produce(p, createCollection(collectionID))
		w.produce(p, inserts(int64(10+p), int64(1000*p), 10, 100)...)
	}
	a := w.startWith(func(w *Worker) { w.patience.revoke = 200 * time.Millisecond }).until(0, 11).until(1, 11)
	slow := w.hold(membucket.Put, "insert_log/")
	b := w.start()
	share(a, b, 1, 1)
	given := b.owns()[0]
	b.until(given, 11)
	if d := w.document(given); d.Epoch != 2 || d.Seek.Offset > 1 {
		t.Errorf("epoch %d, seek position %d: the old owner committed what is not stored", d.Epoch, d.Seek.Offset)
	}
	if k := w.groupOffset(given); k > 1 {
		t.Errorf("the group was told %d", k)
	}
	slow.open()
	b.stop()
	share(a, b, 2, 0)
	a.until(0, 11).until(1, 11).stop()
	w.exact(archive.CheckOptions{Partial: true})
}

// A flow in a slow upload, a rebalance, and a stop, all at once: no waiter
// may wait for another.
func TestARebalanceAndAStopDuringASlowUploadDoNotBlockEachOther(t *testing.T) {
	w := newWorld(t, 2)
	for p := range int32(2) {
		w.produce(p, createCollection(collectionID))
		w.produce(p, inserts(int64(10+p), int64(1000*p), 10, 100)...)
	}
	a := w.start(func(c *Config) { c.Grace = 800 * time.Millisecond }).until(0, 11).until(1, 11)
	slow := w.hold(membucket.Put, "insert_log/")
	b := w.start()
	until(t, "the revoked partition drains", slow.waits)
	a.drain()
	if err := a.wait(); err == nil {
		t.Error("a drain that was cut short is told as complete")
	}
	slow.open()
	b.until(0, 11).until(1, 11).stop()
	w.exact(archive.CheckOptions{Partial: true})
}

// Lost is not revoked: another member may be the owner already.
func TestALostPartitionIsDroppedWithoutACommit(t *testing.T) {
	protocols(t, func(t *testing.T, w *world, as func(*Config)) {
		w.produce(0, createCollection(collectionID), insert(7, 1, 100))
		a := w.start(as).until(0, 2)
		var commits atomic.Int64
		w.cluster.ControlKey(8, func(kmsg.Request) (kmsg.Response, error, bool) {
			w.cluster.KeepControl()
			commits.Add(1)
			return nil, nil, false
		})
		before := commits.Load()
		w.evict()
		a.has(0, "running")
		until(t, "it is claimed again", func() bool { return a.status(0).Epoch == 2 })
		if keys := w.bucket.Keys("insert_log/"); len(keys) > 0 {
			t.Errorf("it was drained: %q", keys)
		}
		if n := commits.Load() - before; n > 0 && w.groupOffset(0) > 1 {
			t.Errorf("the group was told %d by a member that it had lost", w.groupOffset(0))
		}
		a.until(0, 2).stop()
		w.exact(archive.CheckOptions{})
	})
}

// evict makes the broker disown the next member that sends a heartbeat.
func (w *world) evict() {
	w.cluster.ControlKey(12, func(req kmsg.Request) (kmsg.Response, error, bool) {
		resp := req.ResponseKind().(*kmsg.HeartbeatResponse)
		resp.ErrorCode = kerr.UnknownMemberID.Code
		return resp, nil, true
	})
	w.cluster.ControlKey(68, func(req kmsg.Request) (kmsg.Response, error, bool) {
		resp := req.ResponseKind().(*kmsg.ConsumerGroupHeartbeatResponse)
		resp.ErrorCode = kerr.UnknownMemberID.Code
		return resp, nil, true
	})
}

// A member that comes and goes for a while costs nobody a row.
func TestAMemberThatComesAndGoesLosesNothing(t *testing.T) {
	w := newWorld(t, 4)
	for p := range int32(4) {
		w.produce(p, createCollection(collectionID))
	}
	a := w.start(small)
	key := int64(0)
	for range 5 {
		for p := range int32(4) {
			w.produce(p, inserts(int64(10+p), key, 20, 2000)...)
			key += 20
		}
		b := w.start(small)
		share(a, b, 2, 2)
		for p := range int32(4) {
			w.produce(p, inserts(int64(10+p), key, 20, 2000)...)
			key += 20
		}
		b.stop()
		share(a, b, 4, 0)
	}
	for p := range int32(4) {
		a.until(p, 201)
	}
	a.stop()
	w.exact(archive.CheckOptions{})
}

// Two claims: the first owner is fenced, and claims again only once the group
// has confirmed that the partition is still its own.
// claim makes the test the owner of vchannel 0.
// Two groups over one bucket would throw each other's buffers away for ever.
// The client may take long to learn what Kafka stored; the flow's offset
// still decides.
func TestAnOffsetSetBeforeTheGroupsOffsetsAreKnownStands(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID))
	w.produce(0, inserts(7, 1, 9, 100)...)
	w.start().until(0, 10).stop()
	w.produce(0, insert(7, 100, 100))
	var known atomic.Bool
	w.cluster.ControlKey(9, func(req kmsg.Request) (kmsg.Response, error, bool) {
		w.cluster.KeepControl()
		if known.Load() || req.(*kmsg.OffsetFetchRequest).RequireStable { // the flow's own question
			return nil, nil, false
		}
		resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
		resp.ErrorCode = kerr.CoordinatorLoadInProgress.Code
		for _, g := range req.(*kmsg.OffsetFetchRequest).Groups {
			rg := kmsg.NewOffsetFetchResponseGroup()
			rg.Group, rg.ErrorCode = g.Group, resp.ErrorCode
			resp.Groups = append(resp.Groups, rg)
		}
		return resp, nil, true
	})
	l := w.start()
	l.has(0, "running")
	until(t, "the flow has set its offset", func() bool { return l.parts[partition{topic, 0}].installed.Load() != nil })
	known.Store(true)
	l.until(0, 11).stop()
	if n := l.metric("flowgraph_flow_restarts_total") + l.metric("flowgraph_filtered_rows_total"); n != 0 {
		t.Errorf("it began elsewhere: %g", n)
	}
	w.exact(archive.CheckOptions{})
}
