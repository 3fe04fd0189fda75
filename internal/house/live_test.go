package house_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	process "github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/flows"
	"flowgraph/internal/devstack"
	"flowgraph/internal/membucket"
	"flowgraph/internal/recording"
)

// liveMetrics runs a worker over recorded traffic and returns the labels of
// each series name that its registry then has, and under "name{label}" the
// values of a label that only the program chooses.
func liveMetrics(t *testing.T) map[string]map[string]bool {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(process.NewGoCollector(), process.NewProcessCollector(process.ProcessCollectorOpts{}))
	flows.RegisterBuild(registry, "v1", "go1")
	flows.NewStoreMetrics(registry)
	runWorker(t, registry)
	found := map[string]map[string]bool{}
	gather(t, registry, func(name string, labels map[string]string) {
		if found[name] == nil {
			found[name] = map[string]bool{}
		}
		for label, value := range labels {
			found[name][label] = true
			if label == "vchannel" || label == "le" {
				continue
			}
			if key := name + "{" + label + "}"; found[key] == nil {
				found[key] = map[string]bool{value: true}
			} else {
				found[key][value] = true
			}
		}
		for _, l := range byPrometheus {
			found[name][l] = true
		}
	})
	found["up"] = map[string]bool{"job": true, "instance": true}
	return found
}

// runWorker starts a worker, which runs until the test ends, and returns once
// a vchannel has everything that it can show.
func runWorker(t *testing.T, registry *prometheus.Registry) {
	t.Helper()
	broker, err := devstack.StartBroker(devstack.BrokerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { broker.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	_, err = recording.Replay(ctx, ctx, root+"/testdata/recordings/ddl/records.jsonl.gz", recording.ReplayOptions{Client: []kgo.Opt{kgo.SeedBrokers(broker.Addr())}})
	if err != nil {
		t.Fatal(err)
	}
	cfg := flows.DefaultConfig()
	cfg.Brokers, cfg.Topics, cfg.MemoryBudget = []string{broker.Addr()}, []string{"^by-dev-rootcoord-dml_[0-9]+$"}, 64<<20
	cfg.Limits.FlushAge = time.Millisecond
	w, err := flows.NewWorker(cfg, membucket.New(), registry, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx, ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the worker ended with %v", err)
		}
	})
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for late := time.After(30 * time.Second); ; {
		for _, f := range w.Status() {
			if f.Lag == 0 && f.Read > 0 && !f.SeekTime.IsZero() {
				return
			}
		}
		select {
		case <-ticker.C:
		case <-late:
			t.Fatalf("the worker has not read the recording: %+v", w.Status())
		}
	}
}

// gather calls see for each series, with the names that Prometheus gives to
// those of histograms.
func gather(t *testing.T, registry *prometheus.Registry, see func(name string, labels map[string]string)) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if m.GetHistogram() == nil {
				see(f.GetName(), labels)
				continue
			}
			see(f.GetName()+"_sum", labels)
			see(f.GetName()+"_count", labels)
			labels["le"] = "1"
			see(f.GetName()+"_bucket", labels)
		}
	}
}
