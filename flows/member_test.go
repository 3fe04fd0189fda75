package flows

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"flowgraph/internal/archive"
	"flowgraph/internal/devstack"
)

// protocols are the ways in which a group gives out partitions.
func protocols(t *testing.T, test func(t *testing.T, w *world, as func(*Config))) {
	for _, serverSide := range []bool{false, true} {
		t.Run(map[bool]string{false: "classic", true: "consumer"}[serverSide], func(t *testing.T) {
			w := worldOn(t, 4, devstack.BrokerConfig{ConsumerSession: time.Second})
			test(t, w, func(c *Config) { c.ServerSide = serverSide })
		})
	}
}

// protocol is what the broker takes the group for.
func (w *world) protocol() string {
	w.t.Helper()
	resp, err := kmsg.NewPtrListGroupsRequest().RequestWith(w.t.Context(), w.client)
	if err != nil || len(resp.Groups) != 1 {
		w.t.Fatalf("groups: %v, %v", resp, err)
	}
	return resp.Groups[0].GroupType
}

// A member that comes takes single partitions: these are drained before they
// are given away, and the others do not notice.
func TestAMemberThatComesInterruptsFlowsThatStay(t *testing.T) {
	protocols(t, func(t *testing.T, w *world, as func(*Config)) {
		for p := range int32(4) {
			w.produce(p, createCollection(collectionID))
			w.produce(p, inserts(int64(10+p), int64(1000*p), 10, 100)...)
		}
		a := w.start(as)
		for p := range int32(4) {
			a.until(p, 11)
		}
		b := w.start(as)
		share(a, b, 2, 2)
		for _, p := range b.owns() {
			b.until(p, 11)
			if s := b.status(p); s.Seek != 11 || s.Epoch != 2 {
				t.Errorf("the new owner of %d begins at %d, epoch %d", p, s.Seek, s.Epoch)
			}
		}
		for _, p := range a.owns() {
			if d := w.document(p); d.Epoch != 1 || a.status(p).State != "running" {
				t.Errorf("%d has stayed, and is %s in epoch %d", p, a.status(p).State, d.Epoch)
			}
		}
		if n := b.metric("flowgraph_filtered_rows_total") + a.metric("flowgraph_fenced_total"); n != 0 {
			t.Errorf("%g rows were read again, or flows fenced", n)
		}
		if kind := w.protocol(); !strings.HasSuffix(t.Name(), kind) || kind == "" {
			t.Errorf("the group's protocol is %q", kind)
		}
		b.stop()
		share(a, b, 4, 0)
		a.stop()
		w.exact(archive.CheckOptions{})
	})
}

// A worker that is killed and comes back under its name within the session
// finds its partitions as they were: nobody else is bothered.
func TestARestartWithinTheSessionRebalancesTheOthers(t *testing.T) {
	protocols(t, func(t *testing.T, w *world, as func(*Config)) {
		for p := range int32(4) {
			w.produce(p, createCollection(collectionID))
		}
		named := func(id string) func(*Config) {
			return func(c *Config) { c.InstanceID, c.SessionTimeout = id, 20*time.Second }
		}
		w.cluster.SetGroupConfigs("flowgraph", map[string]string{"consumer.session.timeout.ms": "20000"})
		a, b := w.start(as, named("a")), w.start(as, named("b"))
		share(a, b, 2, 2)
		stay, theirs := a.owns(), b.owns()
		for _, p := range append(theirs, stay...) {
			until(t, "all are claimed", func() bool { return a.status(p).State == "running" || b.status(p).State == "running" })
		}
		before := map[int32]int64{}
		for _, p := range stay {
			before[p] = a.status(p).Epoch
		}
		b.stop() // it does not leave the group
		for p := range int32(4) {
			w.produce(p, inserts(int64(10+p), int64(1000*p), 10, 100)...)
		}
		b = w.start(as, named("b"))
		for _, p := range append(theirs, stay...) {
			if slices.Contains(theirs, p) {
				b.until(p, 11)
			} else {
				a.until(p, 11)
			}
		}
		for _, p := range stay {
			if now := a.status(p).Epoch; now != before[p] {
				t.Errorf("the other's flow of %d began anew: epoch %d became %d", p, before[p], now)
			}
		}
		a.stop()
		b.stop()
		w.exact(archive.CheckOptions{})
	})
}

// Two workers with one name: the elder is told, ends, and its flows write
// nothing more.
func TestTwoWorkersWithOneNameQuarrelForEver(t *testing.T) {
	w := newWorld(t, 2)
	for p := range int32(2) {
		w.produce(p, createCollection(collectionID))
		w.produce(p, inserts(int64(10+p), int64(1000*p), 10, 100)...)
	}
	named := func(c *Config) { c.InstanceID = "the-worker" }
	a := w.start(named).until(0, 11).until(1, 11)
	b := w.start(named)
	if err := a.wait(); !errors.Is(err, ErrInstanceTaken) {
		t.Errorf("the elder ended with: %v", err)
	}
	b.until(0, 11).until(1, 11).stop()
	w.exact(archive.CheckOptions{})
}

// With the consumer protocol the elder keeps the name, and the younger says
// why it waits.
func TestAWorkerWhoseNameIsTakenWaitsSilently(t *testing.T) {
	w := worldOn(t, 2, devstack.BrokerConfig{ConsumerSession: time.Second})
	for p := range int32(2) {
		w.produce(p, createCollection(collectionID))
		w.produce(p, inserts(int64(10+p), int64(1000*p), 10, 100)...)
	}
	named := func(c *Config) { c.InstanceID, c.ServerSide = "the-worker", true }
	a := w.start(named).until(0, 11).until(1, 11)
	b := w.start(named)
	until(t, "the younger says why it waits", func() bool { return b.log.has("holds this instance ID for another worker") })
	if len(b.owns()) > 0 {
		t.Errorf("it has %v all the same", b.owns())
	}
	a.stop()
	b.until(0, 11).until(1, 11).stop()
	w.exact(archive.CheckOptions{})
}

// A setting that the broker cannot follow is refused, not ignored.
func TestAnOldBrokerMakesAConsumerGroupAClassicOne(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 100))
	w.cluster.ControlKey(68, func(req kmsg.Request) (kmsg.Response, error, bool) {
		w.cluster.KeepControl()
		resp := req.ResponseKind().(*kmsg.ConsumerGroupHeartbeatResponse)
		resp.ErrorCode = kerr.UnsupportedVersion.Code
		return resp, nil, true
	})
	if err := w.start(func(c *Config) { c.ServerSide = true }).wait(); !errors.Is(err, ErrProtocol) {
		t.Errorf("it ended with: %v", err)
	}
	if keys := w.bucket.Keys("insert_log/"); len(keys) > 0 {
		t.Errorf("it wrote %q", keys)
	}
}
