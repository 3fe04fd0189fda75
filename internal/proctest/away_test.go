//go:build unix

package proctest

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// budget is the memory budget of a worker that is given more than that.
const budget = 16 << 20

// sessions are how often a store that is away could cost the worker its
// partitions: as often as in an hour with the default session, in the long form.
func sessions() int {
	if options.spells < 50 {
		return 4
	}
	return 360
}

// rate of records a second, 8 MB, fills the budget in two seconds.
const rate = 2500

// The store is away for long while producers write on at a high rate:
// the worker reads what its budget holds, keeps its partitions, and catches up.
func TestAStoreThatIsAwayForLongFillsMemoryOrCostsPartitions(t *testing.T) {
	w, n := newNetwork(t)
	cfg := w.generated(map[string]int32{"traffic": 4})
	// Few files: bytes are what counts here.
	cfg.Collections, cfg.Partitions, cfg.SegmentRows, cfg.Mix.DropPartition, cfg.Mix.DropCollection = 1, 1, 20_000, 0, 0
	args := []string{
		"--topics=traffic", "--session-timeout=" + session.String(), fmt.Sprintf("--memory-budget=%dMiB", budget>>20),
		"--flush-bytes=1MiB", "--flush-delete-bytes=64KiB", "--flush-age=2s",
	}
	p := w.worker("worker", args...)
	w.shared(p)
	rebalances, calm := p.metric("flowgraph_rebalances_total"), p.resident()
	away := spell{line: n.store, kind: "away", toxics: [][]toxic{kinds["half-open"](w.rng), nil}[w.rng.IntN(2)]}
	for i := range away.toxics {
		away.toxics[i].Toxicity = 1
	}
	away.begin()
	writer := w.writing(cfg, rate)
	const used = "flowgraph_memory_used_bytes"
	await(t, func() string { return fmt.Sprintf("reading does not pause: %.0f bytes are used", p.metric(used)) },
		func() bool { return p.metric(used) > budget })
	// What was fetched already is still placed; then nothing may come.
	paused := writer.sent.Load()
	settled, most := w.settled(p, used), int64(0)
	if limit := 1.25 * budget; settled > limit { // what one fetch brings is taken whole
		t.Errorf("reading pauses at %.0f bytes, %.0f are allowed", settled, limit)
	}
	for begin := time.Now(); time.Since(begin) < time.Duration(sessions())*session; pause(50 * time.Millisecond) {
		most = max(most, p.resident())
		if now := p.metric(used); now > settled {
			t.Fatalf("reading is paused, and memory grew from %.0f to %.0f bytes of the budget", settled, now)
		}
		if writer.sent.Load() > 2*paused { // enough: it is not the broker's disk that is tested
			writer.stop()
		}
	}
	if now := p.metric("flowgraph_rebalances_total"); now != rebalances {
		t.Errorf("the group took partitions away: %.0f changes of the assignment before, %.0f after", rebalances, now)
	}
	away.end()
	writer.end()
	p.signal(syscall.SIGTERM)
	p.exits(0)
	w.follow()
	report := w.finish(args...)
	t.Logf("%d records written, %d sessions without a store: %.0f of %d bytes in use throughout, %d MB resident before, %d during; lost %d, doubled %d\n%s",
		writer.sent.Load(), sessions(), settled, budget, calm>>20, most>>20, report.Lost, report.Doubled, report)
	// What a process has without any rows, and what garbage may be.
	if limit := int64(150<<20 + 3*budget/2); most > limit {
		t.Errorf("%d bytes were resident, %d are allowed", most, limit)
	}
}

// settled waits until a metric has stayed what it is for a session.
func (w *world) settled(p *worker, name string) float64 {
	w.t.Helper()
	value, since := p.metric(name), time.Now()
	await(w.t, saying("%s does not settle", name), func() bool {
		if now := p.metric(name); now != value {
			value, since = now, time.Now()
		}
		return time.Since(since) > session
	})
	return value
}

// resident is the memory that the process has now, in bytes; 0 where the
// system does not tell.
func (p *worker) resident() int64 {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "VmRSS:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return n << 10
		}
	}
	return 0
}
