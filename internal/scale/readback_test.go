//go:build linux

package scale

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What reading everything back costs: as Parquet, against the log, and one
// file.
func TestReadingBackReadsEachObjectOnce(t *testing.T) {
	w := newWorld(t, size(options.partitions, 2, 8), true)
	bytes := w.fill(size(options.messages, 16, 1000), 64)
	w.tickOnce(time.Now())
	k := w.run("--until-end", "--memory-budget=256MiB", "--flush-bytes=16MiB")
	k.end()
	gb := float64(bytes) / 1e9
	c := w.store.Counts()
	t.Logf("%.2f GB stored with %.2f CPU s/GB as %.2f GB in %d puts", gb, k.cpu()/gb, float64(c.Stored)/1e9, c.Puts)
	measure := func(name string, args ...string) {
		before, begun := w.store.Counts(), time.Now()
		k := start(t, append(args, w.s3()...)...)
		k.end()
		c := w.store.Counts().Less(before)
		t.Logf("%s: %.2f CPU s/GB, %.2f s, peak %.0f MB; %d gets of %.2f GB, %d listings",
			name, k.cpu()/gb, time.Since(begun).Seconds(), k.peak, c.Gets, float64(c.Read)/1e9, c.Lists)
		// Beside the rows: documents, manifests, statistics.
		if float64(c.Read) > 1.2*float64(bytes)+1e6 {
			t.Errorf("%s reads %d bytes of %d", name, c.Read, bytes)
		}
	}
	measure("export", "export", "scale", "--out="+filepath.Join(t.TempDir(), "out"))
	measure("verify", "verify", "--brokers="+w.broker.Addr(), "--topics="+topic)
	measure("inspect", "inspect")
	measure("gc", "gc")
	vector := ""
	for _, key := range w.store.Keys(bucket + "/files/insert_log/") {
		if strings.Contains(key, "/101/") {
			vector = strings.TrimPrefix(key, bucket+"/")
		}
	}
	measure("binlog", "binlog", vector, "--limit=2")
}
