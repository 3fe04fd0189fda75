//go:build linux

package scale

import (
	"testing"
	"time"
)

// A worker is killed with everything read and nothing flushed; the next one,
// with the settings as they come, reads it again and stores it.
func TestUnflushedRowsAreReadOnceAndStoredOnceAfterAKill(t *testing.T) {
	w := newWorld(t, size(options.partitions, 2, 8), false)
	messages := size(options.messages, 40, 2000)
	bytes := w.fill(messages, 1<<30)
	w.tickOnce(time.Now())
	instance := "--instance-id=the-one"
	k := w.run(instance, "--flush-bytes=1GiB", "--flush-age=24h", "--memory-budget=8GiB")
	k.ready()
	k.await("all is read", func() bool {
		return k.metrics()["flowgraph_vchannel_read_position"] == w.ends()
	})
	gb := float64(bytes) / 1e9
	t.Logf("%.2f GB read, nothing flushed: %.2f CPU s/GB, %.0f MB", gb, k.cpu()/gb, k.memory("VmHWM"))
	k.kill()
	if n := w.store.Has(bucket + "/files/insert_log/"); n > 0 {
		t.Fatalf("%d binlogs were stored before the kill", n)
	}

	before, begun := w.store.Counts(), time.Now()
	k = w.run(instance)
	k.ready()
	ready := time.Since(begun)
	k.await("the first rows are placed", func() bool { return k.metrics()["flowgraph_rows_total"] > 0 })
	first := time.Since(begun)
	k.await("all is read again", func() bool { return k.metrics()["flowgraph_vchannel_read_position"] == w.ends() })
	read, cpu := time.Since(begun), k.cpu()
	t.Logf("claimed after %.2f s, first rows after %.2f s, caught up after %.2f s with %.2f CPU s/GB", ready.Seconds(), first.Seconds(), read.Seconds(), cpu/gb)
	k.stop()
	took, m := time.Since(begun), w.store.Counts().Less(before)
	t.Logf("all stored after %.2f s with %.2f CPU s/GB, peak %.0f MB; %.0f rows a second; %d puts, documents %.4f %% of the bytes",
		took.Seconds(), k.cpu()/gb, k.peak, float64(messages)*rows/took.Seconds(), m.Puts, 100*float64(m.DocumentBytes)/float64(m.Stored))
	if m.Lists > 0 || float64(m.Stored) > 1.1*float64(bytes)+100_000 {
		t.Errorf("%d bytes of rows were stored as %d, with %d listings", bytes, m.Stored, m.Lists)
	}

	before = w.store.Counts()
	k = w.run(instance, "--until-end")
	k.end()
	if m := w.store.Counts().Less(before); m.Stored > 20_000*int64(w.partitions) {
		t.Errorf("a start after everything was stored stores %d bytes", m.Stored)
	}
}
