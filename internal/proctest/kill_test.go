//go:build unix

package proctest

import (
	"strings"
	"testing"
	"time"
)

// everything is what the kill test's worker reads: the topics of a Milvus
// cluster, found by an expression, and one of several partitions.
const everything = "/by-dev-.*-dml_[0-9]+/,traffic"

func TestKillLosesOrDoublesRows(t *testing.T) {
	w := newWorld(t)
	cfg := w.generated(map[string]int32{"by-dev-traffic-dml_0": 1, "by-dev-traffic-dml_1": 1, "traffic": 2})
	w.makeTopics(map[string]int32{"by-dev-rootcoord-dml_0": 1, "by-dev-rootcoord-dml_1": 1}) // of the recordings
	writer := w.writing(cfg, 100, recorded("ddl", "upsert", "varchar_pk", "all_types", "concurrent")...)
	// A static member is replaced at once by the next life of its name.
	args := append(quick(), "--topics="+everything, "--instance-id=the-worker")
	w.kills(options.kills, args...)
	writer.end()
	report := w.finish(args...)
	t.Logf("%d kills survived, %d records generated beside the recordings:\n%s", options.kills, writer.sent.Load(), report)
}

func TestKillWithoutGroupLosesOrDoublesRows(t *testing.T) {
	w := newWorld(t)
	cfg := w.generated(map[string]int32{"traffic": 3})
	writer := w.writing(cfg, 100)
	args := append(quick(), "--topics=traffic:0,traffic:1,traffic:2")
	kills := options.kills / 5
	w.kills(kills, args...)
	writer.end()
	report := w.finish(args...)
	t.Logf("%d kills survived, %d records generated:\n%s", kills, writer.sent.Load(), report)
}

// kills starts a worker and kills it at a moment drawn by chance, again and
// again.
func (w *world) kills(n int, args ...string) {
	w.t.Helper()
	moments := make([]string, n)
	for i := range n {
		after := time.Duration(w.rng.IntN(1500)) * time.Millisecond
		moments[i] = after.String()
		w.worker("killed", args...).killAfter(after)
		w.follow()
	}
	w.t.Logf("killed %s after each start", strings.Join(moments, ", "))
	advanced := 0
	for _, d := range w.docs {
		if d.Seek.Offset > 0 {
			advanced++
		}
	}
	if n >= 10 && advanced == 0 {
		w.t.Fatalf("in %d lives no position has moved", n)
	}
}
