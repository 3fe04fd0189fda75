//go:build linux

package scale

import (
	"testing"
	"time"

	"flowgraph/checkpoints"
)

// A vchannel with many flushed and many open segments: what its document, its
// claim and the questions of people cost.
func TestManySegmentsCostNoListingsAndABoundedDocument(t *testing.T) {
	flushed := size(0, 20, 10_000)
	open := size(0, 10, 5_000)
	w := newWorld(t, 1, false)
	in := &inserts{w: w}
	begun := time.Now().Add(-time.Hour)
	for i := range flushed {
		in.send(0, segmentID(i), 1, begun)
	}
	for i := range open {
		in.send(0, segmentID(flushed+i), 1, begun.Add(30*time.Minute)) // the others are idle by then
	}
	w.tickOnce(begun.Add(30 * time.Minute)) // no message is remembered as one that may come again
	args := []string{"--flush-age=2s", "--memory-budget=256MiB"}
	k := w.run(args...)
	k.ready()
	k.await("all is stored", func() bool {
		return k.metrics()["flowgraph_vchannel_seek_position"] == w.ends() && w.store.Has(bucket+"/files/segments/") == flushed
	})
	k.await("the others have left", func() bool { return k.metrics()["flowgraph_vchannel_segments"] == float64(open) })
	m := k.metrics()
	c := w.store.Counts()
	t.Logf("%d flushed and %d open segments: %.1f CPU s, %.0f MB, %d puts, %d documents of %d bytes, in all; %d in the last",
		flushed, open, k.cpu(), k.memory("VmHWM"), c.Puts, c.Documents, c.DocumentBytes, w.store.Size(documentKey(0)))
	t.Logf("commits: %.0f, %.3f s each", m["flowgraph_commits_total"], m["flowgraph_commit_duration_seconds_sum"]/m["flowgraph_commit_duration_seconds_count"])
	if c.Lists > 0 {
		t.Errorf("a worker lists %d times", c.Lists)
	}
	ask(t, k)
	k.stop()

	before := w.store.Counts()
	started := time.Now()
	k = w.run(append(args, "--until-end")...)
	k.end()
	again := w.store.Counts().Less(before)
	t.Logf("claimed and ended again: %.2f s, %.2f CPU s, %.0f MB, %+v", time.Since(started).Seconds(), k.cpu(), k.peak, again)
	if again.Lists > 0 || again.Requests() > 25 {
		t.Errorf("a start on %d segments asks %+v", flushed+open, again)
	}
	before = w.store.Counts()
	inspect := start(t, append([]string{"inspect", "--json"}, w.s3()...)...)
	inspect.end()
	t.Logf("inspect: %.2f CPU s, %.0f MB, %+v", inspect.cpu(), inspect.peak, w.store.Counts().Less(before))
}

func documentKey(partition int32) string {
	return bucket + "/files/" + checkpoints.DocumentKey(checkpoints.VChannel{Topic: topic, Partition: partition}.Name())
}

// ask measures what the page asks of the worker.
func ask(t *testing.T, k *worker) {
	for _, path := range []string{"/api/worker", "/api/vchannels", "/api/segments", "/api/segments?limit=5000", "/api/vchannels/" + topic + "-0", "/metrics"} {
		const times = 10
		k.get(path)
		cpu, begun, bytes := k.cpu(), time.Now(), 0
		for range times {
			bytes = len(k.get(path))
		}
		t.Logf("%-28s %8d bytes, %.3f CPU s, %.3f s", path, bytes, (k.cpu()-cpu)/times, time.Since(begun).Seconds()/times)
	}
}
