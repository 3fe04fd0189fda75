package flows

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/checkpoints"
)

// life is one run of a worker.
type life struct {
	*Worker
	t        *testing.T
	registry *prometheus.Registry
	log      *lines
	drain    context.CancelFunc
	die      context.CancelFunc
	ended    chan struct{}
	err      error
}

// lines keeps a log for tests that look for words in it.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) has(words string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), words)
}

// config suits tests: small buffers, short waits.
func (w *world) config() Config {
	cfg := DefaultConfig()
	cfg.Brokers, cfg.Topics = []string{w.addr}, []string{"^by-dev-rootcoord-dml_[0-9]+$"}
	cfg.SessionTimeout, cfg.Grace = time.Second, 20*time.Second
	cfg.Client = []kgo.Opt{kgo.FetchMaxWait(100 * time.Millisecond)}
	return cfg
}

// start runs a worker until it is stopped, dies or ends by itself.
func (w *world) start(edits ...func(*Config)) *life {
	w.t.Helper()
	return w.startWith(func(*Worker) {}, edits...)
}

func (w *world) startWith(prepare func(*Worker), edits ...func(*Config)) *life {
	w.t.Helper()
	return w.startOn(w.bucket, prepare, edits...)
}

func (w *world) startOn(bucket checkpoints.Bucket, prepare func(*Worker), edits ...func(*Config)) *life {
	w.t.Helper()
	cfg := w.config()
	for _, edit := range edits {
		edit(&cfg)
	}
	l := &life{t: w.t, registry: prometheus.NewRegistry(), log: &lines{}, ended: make(chan struct{})}
	worker, err := NewWorker(cfg, bucket, l.registry, zerolog.New(l.log).Level(zerolog.DebugLevel))
	if err != nil {
		w.t.Fatal(err)
	}
	worker.patience.restartFirst, worker.patience.restartMax = 10*time.Millisecond, 200*time.Millisecond
	worker.patience.reclaimFirst, worker.patience.reclaimMax = 10*time.Millisecond, 100*time.Millisecond
	worker.patience.topics = 200 * time.Millisecond
	prepare(worker)
	l.Worker = worker
	ctx, die := context.WithCancel(context.Background())
	stop, drain := context.WithCancel(context.Background())
	l.die, l.drain = die, drain
	go func() {
		defer close(l.ended)
		l.err = worker.Run(ctx, stop)
	}()
	w.t.Cleanup(func() {
		l.kill()
		l.drain()
		if w.t.Failed() {
			w.t.Logf("log of a worker:\n%s", l.log.text.String())
		}
	})
	return l
}

// wait returns how the worker ended.
func (l *life) wait() error {
	l.t.Helper()
	until(l.t, "the worker ends", func() bool {
		select {
		case <-l.ended:
			return true
		default:
			return false
		}
	})
	return l.err
}

// stop ends the worker gracefully, which must succeed.
func (l *life) stop() {
	l.t.Helper()
	l.drain()
	if err := l.wait(); err != nil {
		l.t.Fatalf("the drain ended with: %v", err)
	}
}

// kill ends the worker at once.
func (l *life) kill() {
	l.die()
	<-l.ended
}

// has waits until the vchannel is in the state.
func (l *life) has(partition int32, state string) FlowStatus {
	l.t.Helper()
	var s FlowStatus
	until(l.t, vchannel(partition)+" is "+state, func() bool {
		s = l.status(partition)
		return s.State == state
	})
	return s
}

func (l *life) status(partition int32) FlowStatus {
	all := l.Status()
	i := slices.IndexFunc(all, func(s FlowStatus) bool { return s.VChannel == vchannel(partition) })
	if i < 0 {
		return FlowStatus{}
	}
	return all[i]
}

// metric is the sum of all series of a name.
func (l *life) metric(name string) float64 {
	l.t.Helper()
	families, err := l.registry.Gather()
	if err != nil {
		l.t.Fatal(err)
	}
	var sum float64
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return sum
}
