//go:build unix

package proctest

import (
	"maps"
	"syscall"
	"testing"
	"time"
)

// A worker joins and leaves every second, orderly or killed, so that the group
// is hardly ever at rest; the one that stays gets on all the same. Then the
// same with a group whose broker gives out the partitions: it is the same group
// where the broker can change it over while members are there.
func TestRebalanceStormLosesOrDoublesRowsOrStopsProgress(t *testing.T) {
	w := newWorld(t)
	writer := w.writing(w.generated(map[string]int32{"traffic": 6}), 150)
	args := append(quick(), "--topics=traffic", "--session-timeout=2s")
	group := "--group=storm"
	host := w.worker("host", append(args, group)...)
	w.shared(host)
	joins, rebalances := 0, 0.0
	var as []string
	for _, protocol := range []string{"classic", "consumer"} {
		as = append(args, "--group-protocol="+protocol)
		if protocol == "consumer" {
			if options.stack == "embedded" {
				host.signal(syscall.SIGTERM)
				host.exits(0)
				group = "--group=another-storm"
			}
			heir := w.worker("heir", append(as, group)...)
			if options.stack == "real" {
				w.shared(host, heir) // of both kinds
				host.signal(syscall.SIGTERM)
				host.exits(0)
			}
			host = heir
			w.shared(host)
		}
		before := w.covered()
		for i := range max(3, options.kills/5-2) {
			guest := w.worker("guest", append(as, group)...)
			pause(time.Second)
			if joins++; i%3 == 2 {
				guest.kill()
			} else {
				guest.orderly()
			}
			w.follow()
		}
		w.shared(host)
		writer.written(100)
		await(t, saying("nothing is stored with the %s protocol", protocol), func() bool {
			w.follow()
			return w.covered() > before
		})
		rebalances += host.metric("flowgraph_rebalances_total")
		if host.ended() {
			t.Fatalf("the host ended with exit code %d:\n%s", host.code, host.tail(25))
		}
	}
	writer.end()
	host.signal(syscall.SIGTERM)
	host.exits(0)
	w.follow()
	t.Logf("%d joins, %.0f changes of the host's assignment, %d records written:\n%s", joins, rebalances, writer.sent.Load(), w.finish(append(as, group)...))
}

// orderly stops a worker that may not have started yet: before that it does
// not heed signals.
func (p *worker) orderly() {
	p.t.Helper()
	await(p.t, saying("%s does not start", p.name), func() bool { return p.ended() || p.logged("worker starts") })
	p.signal(syscall.SIGTERM)
	p.exits(0)
}

// atRest waits until the group has been at rest for longer than a worker
// takes to hear of a change: a quarter of the session.
func (w *world) atRest(group string, workers ...*worker) {
	w.t.Helper()
	rebalances, since := -1.0, time.Now()
	await(w.t, saying("the group does not come to rest"), func() bool {
		described, err := w.admin.DescribeGroups(w.t.Context(), group)
		now := 0.0
		for _, p := range workers {
			now += p.metric("flowgraph_rebalances_total")
		}
		if err != nil || described[group].State != "Stable" || now != rebalances {
			rebalances, since = now, time.Now()
		}
		return time.Since(since) > 3*time.Second
	})
}

func (w *world) epochs(vchannels []string) map[string]int64 {
	epochs := map[string]int64{}
	for _, v := range vchannels {
		epochs[v] = w.docs[v].Epoch
	}
	return epochs
}

// covered is the sum of all seek positions as last seen.
func (w *world) covered() (sum int64) {
	for _, d := range w.docs {
		sum += d.Seek.Offset
	}
	return sum
}

// A worker that is killed and comes back under its name within the session
// disturbs nobody; a second one of the same name ends the first.
func TestANameInTheGroupDisturbsOthersOrServesTwo(t *testing.T) {
	if options.stack == "embedded" && options.kills < 100 {
		t.Skip("only with a real broker, or in the long form")
	}
	w := newWorld(t)
	writer := w.writing(w.generated(map[string]int32{"traffic": 4}), 150)
	args := append(quick(), "--topics=traffic", "--session-timeout=8s")
	a, b := w.worker("a", append(args, "--instance-id=a")...), w.worker("b", append(args, "--instance-id=b")...)
	w.shared(a, b)
	w.atRest("flowgraph", a, b)
	before, stay := a.metric("flowgraph_rebalances_total"), a.running()
	w.follow()
	epochs := w.epochs(stay)
	b.kill()
	writer.written(50)
	b = w.worker("b", append(args, "--instance-id=b")...)
	w.shared(a, b)
	w.follow()
	if now := w.epochs(stay); !maps.Equal(now, epochs) {
		t.Errorf("the other's flows began anew: epochs %v became %v", epochs, now)
	}
	// The embedded broker asks all to join again, if only to leave all as it is.
	if now := a.metric("flowgraph_rebalances_total"); now != before && options.stack == "real" {
		t.Errorf("%.0f changes of the other's assignment before a restart within the session, %.0f after", before, now)
	}
	second := w.worker("second-b", append(args, "--instance-id=b")...)
	const ownershipLost = 3
	b.exits(ownershipLost)
	if !b.logged("another worker has joined the group with the same instance ID") {
		t.Errorf("it does not say why it ends:\n%s", b.tail(5))
	}
	w.shared(a, second)
	writer.written(50)
	writer.end()
	a.orderly()
	second.orderly()
	w.follow()
	t.Logf("%d records written:\n%s", writer.sent.Load(), w.finish(append(args, "--instance-id=a")...))
}
