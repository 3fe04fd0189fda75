//go:build unix

package proctest

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/internal/traffic"
)

// slow are settings under which nothing is flushed by itself.
func slow(more ...string) []string {
	return append([]string{"--flush-bytes=32MiB", "--flush-age=1h", "--memory-budget=256MiB", "--topics=traffic"}, more...)
}

// filled writes so many records and then a bad one into each log: once that
// lies in quarantine the worker has read everything before it. It is no younger
// than the rest, or the segments would be sealed for idleness.
func (w *world) filled(records int64) {
	w.t.Helper()
	cfg := w.generated(map[string]int32{"traffic": 2})
	cfg.Mix.DropPartition, cfg.Mix.DropCollection = 0, 0 // they flush
	if err := traffic.Send(w.t.Context(), w.t.Context(), traffic.New(cfg), traffic.Sending{Client: w.client(), Records: records}); err != nil {
		w.t.Fatal(err)
	}
	client, err := kgo.NewClient(append(w.client(), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		w.t.Fatal(err)
	}
	defer client.Close()
	for _, l := range cfg.Logs {
		r := &kgo.Record{Topic: l.Topic, Partition: l.Partition, Timestamp: cfg.Start, Value: []byte("\x00the last record")}
		if err := client.ProduceSync(w.t.Context(), r).FirstErr(); err != nil {
			w.t.Fatal(err)
		}
	}
}

// read waits until a worker has read all of filled.
func (w *world) read() {
	w.t.Helper()
	await(w.t, saying("the last records are not in quarantine"), func() bool {
		for name, end := range w.ends() {
			last := fmt.Sprintf("%020d.json", end-1)
			if !slices.ContainsFunc(w.data(), func(key string) bool {
				return strings.HasPrefix(key, "quarantine/"+name+"/") && strings.HasSuffix(key, last)
			}) {
				return false
			}
		}
		return true
	})
	w.follow()
	for name, end := range w.ends() {
		if w.docs[name] == nil || w.docs[name].Seek.Offset >= end {
			w.t.Fatalf("%s is flushed already, so that nothing is left to stop for", name)
		}
	}
}

// ends are the offsets after the logs' last records.
func (w *world) ends() map[string]int64 {
	w.t.Helper()
	listed, err := w.admin.ListEndOffsets(w.t.Context(), "traffic")
	if err != nil {
		w.t.Fatal(err)
	}
	ends := map[string]int64{}
	for id, o := range listed["traffic"] {
		ends[fmt.Sprintf("traffic-%d", id)] = o.Offset
	}
	return ends
}

func TestStopWaitsForTimersOrLeavesRowsBehind(t *testing.T) {
	w := newWorld(t)
	w.filled(400)
	p := w.worker("stopped", slow()...)
	w.read()
	p.signal(syscall.SIGTERM)
	p.exits(0)
	w.follow()
	for name, end := range w.ends() {
		if d := w.docs[name]; d.Seek.Offset != end {
			t.Errorf("%s: the seek position is %d after a drain, the log ends at %d", name, d.Seek.Offset, end)
		}
	}
	w.exact(w.expected())
	w.finish(slow()...)
}

// A worker that is stopped in the middle of a log does not count what it has
// not read, and the next one goes on there.
func TestStopInTheMiddleLosesOrDoublesRows(t *testing.T) {
	w := newWorld(t)
	writer := w.writing(w.generated(map[string]int32{"traffic": 3}), 200)
	args := append(quick(), "--topics=traffic", "--instance-id=stopped")
	for range 1 + rounds() {
		p := w.worker("stopped", args...)
		w.shared(p)
		writer.written(50)
		p.signal(syscall.SIGTERM)
		p.exits(0)
		w.follow()
	}
	writer.end()
	w.finish(args...)
}

func TestStopHangsWhileTheStoreIsDown(t *testing.T) {
	for _, down := range []string{"refuses", "hangs"} {
		t.Run(down, func(t *testing.T) {
			w := newWorld(t)
			w.filled(400)
			p := w.worker("stopped", slow("--grace-period=2s")...)
			w.read()
			w.killStore()
			back := func() {}
			if down == "hangs" {
				back = hang(t, w.store())
			}
			p.signal(syscall.SIGTERM)
			p.exits(1)
			if !p.logged("grace period") {
				t.Errorf("it does not say why it ended:\n%s", p.tail(5))
			}
			back()
			w.startStore()
			w.follow()
			for name, end := range w.ends() {
				if w.docs[name].Seek.Offset >= end {
					t.Errorf("%s pretends to be stored to its end", name)
				}
			}
			w.finish(slow()...)
		})
	}
}

func TestSecondSignalIsIgnored(t *testing.T) {
	w := newWorld(t)
	w.filled(400)
	p := w.worker("stopped", slow("--grace-period=1h")...)
	w.read()
	w.killStore()
	back := hang(t, w.store())
	p.signal(syscall.SIGTERM)
	await(t, saying("it does not stop"), func() bool { return p.logged("stopping: flushing everything") })
	if p.ended() {
		t.Fatalf("it ended at the first signal:\n%s", p.tail(5))
	}
	p.signal(syscall.SIGTERM)
	p.exits(1)
	back()
	w.startStore()
	w.finish(slow()...)
}

// hang accepts connections at an address and never answers, until the function
// that it returns is called.
func hang(t *testing.T, address string) (back func()) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	var conns []net.Conn
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns = append(conns, c)
		}
	})
	back = sync.OnceFunc(func() {
		l.Close()
		accepting.Wait()
		for _, c := range conns {
			c.Close()
		}
	})
	t.Cleanup(back)
	return back
}
