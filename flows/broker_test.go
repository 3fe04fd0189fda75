package flows

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/internal/archive"
	"flowgraph/internal/devstack"
)

// A leader that moves is no failure of a flow.
func TestALeaderThatMovesCostsNoRestart(t *testing.T) {
	w := newWorld(t, 2)
	first := w.cluster.LeaderFor(topic, 0)
	if _, _, err := w.cluster.AddNode(-1, 0); err != nil {
		t.Fatal(err)
	}
	for p := range int32(2) {
		w.produce(p, createCollection(collectionID))
	}
	l := w.start().until(0, 1).until(1, 1)
	key := int64(1)
	for move := range int64(6) {
		to := first
		if move%2 == 0 {
			to = first + 1
		}
		for p := range int32(2) {
			if err := w.cluster.MoveTopicPartition(topic, p, to); err != nil {
				t.Fatal(err)
			}
			w.produce(p, inserts(int64(10+p), key, 10, 100)...)
			key += 10
			l.until(p, 1+10*(move+1))
		}
	}
	if n := l.metric("flowgraph_flow_restarts_total"); n != 0 {
		t.Errorf("%g restarts", n)
	}
	l.stop()
	w.exact(archive.CheckOptions{})
}

// A broker that goes and comes back is waited for.
func TestABrokerThatRestartsCostsNoRestart(t *testing.T) {
	cfg := devstack.BrokerConfig{Dir: t.TempDir()}
	w := worldOn(t, 1, cfg)
	w.produce(0, createCollection(collectionID), insert(7, 1, 100))
	l := w.start().until(0, 2)
	cfg.Listen = w.addr
	w.cluster.Close()
	until(t, "the broker is missed", func() bool { return l.Kafka().Error != "" })
	broker, err := devstack.StartBroker(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.cluster = broker.Cluster()
	w.dial()
	w.produce(0, insert(7, 2, 100))
	l.until(0, 3)
	l.stop()
	w.exact(archive.CheckOptions{})
	if l.log.has(ErrFailedTooOften.Error()) || l.log.has("failed; starts again") {
		t.Error("the flow failed")
	}
}

// A worker ends although no broker answers any more.
func TestAStopWithoutABrokerEnds(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(0, createCollection(collectionID), insert(7, 1, 100))
	l := w.start(func(c *Config) { c.Grace = 2 * time.Second }).until(0, 2)
	w.cluster.Close()
	l.drain()
	if err := l.wait(); err != nil {
		t.Errorf("the drain needs the store alone, and ended with: %v", err)
	}
	if d := w.document(0); d.Seek.Offset != 2 {
		t.Errorf("seek position %d", d.Seek.Offset)
	}
}

// A topic that is deleted is no failure of the others.
func TestADeletedTopicOfManyPartitionsEndsNobodyElse(t *testing.T) {
	w := newWorld(t, 1)
	w.create("by-dev-rootcoord-dml_9", 30)
	w.produce(0, createCollection(collectionID), insert(7, 1, 100))
	l := w.start(func(c *Config) {
		c.Client = append(c.Client, kgo.ConsiderMissingTopicDeletedAfter(time.Second))
	}).until(0, 2)
	until(t, "all partitions run", func() bool { return len(l.owns()) == 31 && l.Ready() })
	w.remove("by-dev-rootcoord-dml_9")
	until(t, "the topic is missed", func() bool {
		return l.metric("flowgraph_flow_restarts_total") > 0 || len(w.partsOf(l, "by-dev-rootcoord-dml_9")) == 0
	})
	w.produce(0, insert(7, 2, 100))
	l.until(0, 3)
	l.stop()
	w.exact(archive.CheckOptions{})
}

func (w *world) partsOf(l *life, topic string) (parts []partition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.parts {
		if p.topic == topic {
			parts = append(parts, p)
		}
	}
	return parts
}
