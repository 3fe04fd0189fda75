//go:build linux

package scale

import (
	"testing"
	"time"
)

// idle is a worker whose partitions get nothing but time ticks.
func idle(t *testing.T, partitions int, span time.Duration) {
	w := newWorld(t, partitions, false)
	begun := time.Now()
	k := w.run("--memory-budget=256MiB")
	k.ready()
	t.Logf("%d partitions: ready after %.1f s, %.2f s of CPU, %+v", partitions, time.Since(begun).Seconds(), k.cpu(), w.store.Counts())
	defer w.tick()()
	settle := time.After(min(span, 15*time.Second))
	<-settle
	before, cpu, from := w.store.Counts(), k.cpu(), k.metrics()
	<-time.After(span)
	after, m := w.store.Counts().Less(before), k.metrics()
	minutes := span.Minutes()
	t.Logf("%d partitions, idle: %.1f CPU s a minute, %.0f ticks a second", partitions, (k.cpu()-cpu)/minutes,
		(m["flowgraph_records_total"]-from["flowgraph_records_total"])/span.Seconds())
	t.Logf("a partition and hour: %.1f requests, %.1f of them documents of %d bytes", float64(after.Requests())/minutes*60/float64(partitions),
		float64(after.Documents)/minutes*60/float64(partitions), after.DocumentBytes/max(1, after.Documents))
	t.Logf("documents: %.1f a second, %.0f bytes a second", float64(after.Documents)/span.Seconds(), float64(after.DocumentBytes)/span.Seconds())
	t.Logf("memory %.0f MB, peak %.0f MB; heap in use %.0f MB; %.0f goroutines, %.1f a partition", k.memory("VmRSS"), k.memory("VmHWM"),
		m["go_memstats_heap_inuse_bytes"]/1e6, m["go_goroutines"], m["go_goroutines"]/float64(partitions))
	if after.Gets+after.Stats+after.Lists > 0 {
		t.Errorf("idle partitions have the store asked: %+v", after)
	}
}

func TestIdlePartitionsDoNotReadTheStore(t *testing.T) {
	idle(t, size(options.partitions, 8, 512), size(options.span, 2*time.Second, time.Minute))
}
