//go:build unix

package proctest

import (
	"syscall"
	"testing"
)

// The store goes away and comes back while the worker has rows to write: it
// waits, keeps its partitions, and goes on.
func TestStoreOutageKillsTheWorkerOrCostsRows(t *testing.T) {
	w := newWorld(t)
	writer := w.writing(w.generated(map[string]int32{"traffic": 4}), 150)
	args := append(quick(), "--topics=traffic", "--session-timeout=1s")
	p := w.worker("worker", args...)
	w.shared(p)
	rebalances := p.metric("flowgraph_rebalances_total")
	for range rounds() {
		writer.written(100)
		w.killStore()
		writer.written(300)
		w.startStore()
		writer.written(100)
	}
	writer.end()
	if now := p.metric("flowgraph_rebalances_total"); now != rebalances {
		t.Errorf("the group took partitions away: %.0f changes of the assignment before, %.0f after", rebalances, now)
	}
	p.signal(syscall.SIGTERM)
	p.exits(0)
	w.follow()
	w.finish(args...)
}

// The broker goes away and comes back: the worker finds its partitions again.
func TestBrokerOutageKillsTheWorkerOrCostsRows(t *testing.T) {
	w := newWorld(t)
	writer := w.writing(w.generated(map[string]int32{"traffic": 4}), 150)
	args := append(quick(), "--topics=traffic", "--session-timeout=2s")
	p := w.worker("worker", args...)
	w.shared(p)
	for range rounds() {
		writer.written(200)
		w.killBroker()
		w.follow()
		w.startBroker()
		writer.written(200)
		w.shared(p)
	}
	writer.end()
	p.signal(syscall.SIGTERM)
	p.exits(0)
	w.follow()
	w.finish(args...)
}
