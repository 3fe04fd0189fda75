//go:build unix

package proctest

import (
	"slices"
	"syscall"
	"testing"
)

// Two workers share the logs, a third joins, one is killed, one is paused for
// longer than its session and comes back while the others have its partitions.
func TestRebalanceOrZombieLosesOrDoublesRows(t *testing.T) {
	w := newWorld(t)
	cfg := w.generated(map[string]int32{"by-dev-traffic-dml_0": 1, "by-dev-traffic-dml_1": 1, "traffic": 4})
	writer := w.writing(cfg, 150)
	// Not shorter: the embedded broker also times members out that wait for
	// the others in a rebalance, and leaves their requests unanswered.
	args := append(quick(), "--topics="+everything, "--group=shared", "--session-timeout=2s")
	a, b := w.worker("a", args...), w.worker("b", args...)
	w.shared(a, b)
	writer.written(150)
	c := w.worker("c", args...)
	w.shared(a, b, c)
	writer.written(150)
	a.kill()
	w.follow()
	w.shared(b, c)
	fenced := 0.0
	for range rounds() {
		writer.written(100)
		b.signal(syscall.SIGSTOP)
		w.shared(c)
		writer.written(100)
		b.signal(syscall.SIGCONT)
		w.shared(b, c)
		fenced = b.metric("flowgraph_fenced_total")
	}
	writer.end()
	b.signal(syscall.SIGTERM)
	c.signal(syscall.SIGTERM)
	b.exits(0)
	c.exits(0)
	w.follow()
	t.Logf("%d records written, %.0f late commits of the paused worker fenced:\n%s", writer.sent.Load(), fenced, w.finish(args...))
}

// shared waits until the workers have all partitions, each of them some.
func (w *world) shared(workers ...*worker) {
	w.t.Helper()
	all := w.vchannels()
	await(w.t, saying("the workers do not share %q", all), func() bool {
		var have []string
		for _, p := range workers {
			if p.ended() {
				w.t.Fatalf("%s ended with exit code %d", p.name, p.code)
			}
			some := p.running()
			if len(some) == 0 {
				return false
			}
			have = append(have, some...)
		}
		slices.Sort(have)
		return slices.Equal(have, all)
	})
}

// Without a group nothing tells a worker that it lost its partitions: only the
// epoch in the documents keeps it from writing.
func TestZombieWithoutGroupWritesOn(t *testing.T) {
	w := newWorld(t)
	writer := w.writing(w.generated(map[string]int32{"traffic": 2}), 100)
	args := append(quick(), "--topics=traffic:0,traffic:1")
	zombie := w.worker("zombie", args...)
	w.shared(zombie)
	w.committing()
	zombie.signal(syscall.SIGSTOP)
	w.follow()
	heir := w.worker("heir", args...)
	w.shared(heir)
	w.committing()
	zombie.signal(syscall.SIGCONT)
	const ownershipLost = 3
	zombie.exits(ownershipLost)
	w.follow()
	writer.end()
	heir.signal(syscall.SIGTERM)
	heir.exits(0)
	t.Logf("%d records written:\n%s", writer.sent.Load(), w.finish(args...))
}

// committing waits until every document has been committed after its claim.
func (w *world) committing() {
	w.t.Helper()
	await(w.t, saying("the documents stand still"), func() bool {
		w.follow()
		for _, name := range w.vchannels() {
			if d := w.docs[name]; d == nil || d.Sequence < 3 {
				return false
			}
		}
		return true
	})
}
