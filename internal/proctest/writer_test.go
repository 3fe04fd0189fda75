//go:build unix

package proctest

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"

	"flowgraph/internal/recording"
	"flowgraph/internal/traffic"
)

// writer writes to the logs while workers read them.
type writer struct {
	world *world
	stop  context.CancelFunc
	work  sync.WaitGroup
	sent  atomic.Int64
	err   atomic.Pointer[error]
}

// writing begins to write the stream at a rate of records a second, and beside
// it the recordings one after another into their own topics, until end.
func (w *world) writing(cfg traffic.Config, rate float64, recordings ...string) *writer {
	stop, cancel := context.WithCancel(w.t.Context())
	o := &writer{world: w, stop: cancel}
	ctx, kill := context.WithCancel(w.t.Context())
	w.t.Cleanup(func() {
		kill()
		o.work.Wait()
	})
	o.work.Go(func() {
		o.note(traffic.Send(ctx, stop, traffic.New(cfg), traffic.Sending{
			Client: w.client(), Rate: rate, Sent: func(n int64) { o.sent.Store(n) },
		}))
	})
	if len(recordings) == 0 {
		return o
	}
	o.work.Go(func() {
		for _, path := range recordings {
			_, err := recording.Replay(ctx, stop, path, recording.ReplayOptions{
				Append: true, Rate: recordedRate(), Client: w.client(),
			})
			if err != nil {
				if !errors.Is(err, recording.ErrStopped) {
					o.note(err)
				}
				return
			}
		}
	})
	return o
}

func (o *writer) note(err error) {
	if err != nil {
		o.err.CompareAndSwap(nil, &err)
	}
}

// end stops writing and waits until the broker has everything.
func (o *writer) end() {
	o.world.t.Helper()
	o.stop()
	o.work.Wait()
	if err := o.err.Load(); err != nil {
		o.world.t.Fatalf("writing: %v", *err)
	}
}

// written waits until so many more records of the stream were sent.
func (o *writer) written(n int64) {
	o.world.t.Helper()
	from := o.sent.Load()
	await(o.world.t, saying("the writer is stuck"), func() bool { return o.sent.Load() >= from+n || o.err.Load() != nil })
}

// recorded are recordings of a real Milvus.
func recorded(names ...string) []string {
	paths := make([]string, len(names))
	for i, n := range names {
		paths[i] = filepath.Join(options.root, "testdata/recordings", n, "records.jsonl.gz")
	}
	return paths
}

// recordedRate spreads the eleven thousand records of all recordings over the
// kills.
func recordedRate() float64 { return 11_000 / float64(max(10, options.kills)) }
