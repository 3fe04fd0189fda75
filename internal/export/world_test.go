package export_test

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/flows"
	"flowgraph/internal/archive"
	"flowgraph/internal/devstack"
	"flowgraph/internal/membucket"
	"flowgraph/internal/recording"
)

var recordings = []string{"all_types", "varchar_pk", "ddl", "upsert", "concurrent"}

// worker runs a recording into a bucket in memory, once for all tests.
type worker struct {
	once   sync.Once
	bucket *membucket.Bucket
}

var workers = map[string]*worker{"all_types": {}, "varchar_pk": {}, "ddl": {}, "upsert": {}, "concurrent": {}}

func path(recording, file string) string {
	return filepath.Join("../../testdata/recordings", recording, file)
}

// archived is the archive of a recording that a real worker has made.
func archived(t *testing.T, name string) *archive.Archive {
	t.Helper()
	w := workers[name]
	w.once.Do(func() {
		broker, err := devstack.StartBroker(devstack.BrokerConfig{})
		if err != nil {
			t.Fatal(err)
		}
		defer broker.Close()
		client := []kgo.Opt{kgo.SeedBrokers(broker.Addr())}
		if _, err := recording.Replay(t.Context(), t.Context(), path(name, "records.jsonl.gz"), recording.ReplayOptions{Client: client}); err != nil {
			t.Fatal(err)
		}
		cfg := flows.DefaultConfig()
		cfg.Brokers, cfg.Topics, cfg.UntilEnd = []string{broker.Addr()}, []string{"^by-dev-rootcoord-dml_[0-9]+$"}, true
		bucket := membucket.New()
		run, err := flows.NewWorker(cfg, bucket, prometheus.NewRegistry(), zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Run(t.Context(), t.Context()); err != nil {
			t.Fatal(err)
		}
		w.bucket = bucket
	})
	if w.bucket == nil {
		t.Fatalf("recording %s did not run", name)
	}
	a, err := archive.Open(t.Context(), w.bucket)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
