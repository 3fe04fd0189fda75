// Package testlog makes logs for tests, and lets workers read them.
package testlog

import (
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"flowgraph/checkpoints"
	"flowgraph/flows"
	"flowgraph/internal/devstack"
	"flowgraph/internal/membucket"
	"flowgraph/internal/recording"
)

// Recording writes records to a file and returns its path.
func Recording(t testing.TB, records []recording.Record) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "records.jsonl")
	w, err := recording.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	return path
}

// Broker is one whose topics hold the records of a recording. The caller
// closes it.
func Broker(t testing.TB, recorded string) *devstack.Broker {
	t.Helper()
	b, err := devstack.StartBroker(devstack.BrokerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := recording.Replay(t.Context(), t.Context(), recorded, recording.ReplayOptions{Client: b.Client()}); err != nil {
		b.Close()
		t.Fatal(err)
	}
	return b
}

// Read lets a worker read to the logs' ends as of its start, those of a Milvus
// unless the edits say otherwise. That ctx ends before is no failure.
func Read(ctx context.Context, t testing.TB, b *devstack.Broker, into checkpoints.Bucket, edits ...func(*flows.Config)) {
	t.Helper()
	cfg := flows.DefaultConfig()
	cfg.Brokers, cfg.Topics, cfg.UntilEnd = []string{b.Addr()}, []string{"^by-dev-rootcoord-dml_[0-9]+$"}, true
	for _, edit := range edits {
		edit(&cfg)
	}
	w, err := flows.NewWorker(cfg, into, prometheus.NewRegistry(), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(ctx, t.Context()); err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
}

// Archives are what a worker makes of the recordings of a real Milvus, each
// made once. They are for one test after another.
type Archives struct{ made map[string]*membucket.Bucket }

// Of is a copy of what is made of a recording.
func (a *Archives) Of(t testing.TB, name string) *membucket.Bucket {
	t.Helper()
	if a.made[name] == nil {
		b := Broker(t, filepath.Join("../../testdata/recordings", name, "records.jsonl.gz"))
		defer b.Close()
		bucket := membucket.New()
		Read(t.Context(), t, b, bucket)
		if a.made == nil {
			a.made = map[string]*membucket.Bucket{}
		}
		a.made[name] = bucket
	}
	out := membucket.New()
	for _, key := range a.made[name].Keys("") {
		out.Set(key, a.made[name].Data(key))
	}
	return out
}

// Unzipped is what a compressed file holds.
func Unzipped(t testing.TB, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
