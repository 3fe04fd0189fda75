//go:build unix

package proctest

import (
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// session is how long the group misses a worker before it gives its
// partitions away.
const session = time.Second

// weather draws spells: every kind on every line, then all again, in an order
// drawn by chance. Every so often one outlasts the group's session.
func (w *world) weather(n *network, count int) []spell {
	var deck []spell
	for len(deck) < count {
		var round []spell
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			for _, l := range []*line{n.broker, n.store} {
				s := spell{line: l, kind: kind, toxics: kinds[kind](w.rng), lasts: 100*time.Millisecond + time.Duration(w.rng.Int64N(int64(session)/3))}
				if len(deck) > 0 && w.rng.IntN(4) == 0 {
					s.lasts += time.Duration(w.rng.Int64N(int64(15 * session)))
				}
				round = append(round, s)
			}
		}
		w.rng.Shuffle(len(round), func(i, j int) { round[i], round[j] = round[j], round[i] })
		deck = append(deck, round...)
	}
	// In any case: the group gives the partitions up while the worker lives.
	return slices.Insert(deck[:count-1], count/2, spell{line: n.broker, kind: "cut", lasts: 2 * session})
}

// A worker lives through a network that is bad in every way, one after the
// other; in the long form it is killed now and then while it is.
func TestABadNetworkCostsRowsOrTheWorker(t *testing.T) {
	w, n := newNetwork(t)
	writer := w.writing(w.generated(map[string]int32{"by-dev-traffic-dml_0": 1, "traffic": 3}), 150)
	args := append(quick(), "--topics="+everything, "--session-timeout="+session.String())
	p := w.worker("worker", args...)
	w.shared(p)
	var past []string
	kills, refused := 0, 0
	for _, s := range w.weather(n, options.spells) {
		past = append(past, s.String())
		s.begin()
		if options.spells >= 50 && w.rng.IntN(4) == 0 {
			p.killAfter(time.Duration(w.rng.Int64N(int64(s.lasts))))
			p = w.worker("worker", args...)
			kills++
		}
		pause(s.lasts)
		s.end()
		if p.ended() && !p.logged("worker starts") {
			p.exits(1) // without a store none begins, which is for its supervisor to see
			refused++
			p = w.worker("worker", args...)
		}
		if p.ended() {
			t.Fatalf("it ended with exit code %d:\n%s\nafter\n%s", p.code, p.tail(25), strings.Join(past, "\n"))
		}
		w.follow()
	}
	w.shared(p)
	writer.end()
	p.signal(syscall.SIGTERM)
	p.exits(0)
	w.follow()
	report := w.finish(args...)
	t.Logf("%d records written, %d spells and %d kills survived, %d starts in vain: lost %d, doubled %d\n%s%s",
		writer.sent.Load(), len(past), kills, refused, report.Lost, report.Doubled, report, strings.Join(past, "\n"))
}
