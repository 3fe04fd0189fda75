package archive_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/checkpoints"
	"flowgraph/flows"
	"flowgraph/internal/archive"
	"flowgraph/internal/devstack"
	"flowgraph/internal/membucket"
	"flowgraph/internal/recording"
)

// The command claims under a worker's feet: the worker is fenced, claims again
// and reads everything once more.
func TestARewindUnderARunningWorkerDoublesOrLosesRows(t *testing.T) {
	path, total := generated(t, 6, 2000)
	broker, err := devstack.StartBroker(devstack.BrokerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	client := []kgo.Opt{kgo.SeedBrokers(broker.Addr())}
	if _, err := recording.Replay(t.Context(), t.Context(), path, recording.ReplayOptions{Client: client}); err != nil {
		t.Fatal(err)
	}
	m := membucket.New()
	var once sync.Once
	var rewound *checkpoints.Document
	m.Before(func(ctx context.Context, c membucket.Call) error {
		if c.Op != membucket.Put || !strings.HasPrefix(c.Key, "segments/") {
			return nil
		}
		once.Do(func() {
			v := open(t, m).VChannels()[0]
			to := checkpoints.VChannel{Topic: v.Doc.Topic, Partition: v.Doc.Partition, TopicID: v.Doc.TopicID}
			d, err := checkpoints.Rewind(t.Context(), m, to, checkpoints.Position{LeaderEpoch: -1})
			if err != nil {
				t.Error(err)
			}
			rewound = d
		})
		return nil
	})
	cfg := flows.DefaultConfig()
	cfg.Brokers, cfg.Topics, cfg.UntilEnd = []string{broker.Addr()}, []string{"^by-dev-rootcoord-dml_[0-9]+$"}, true
	cfg.Limits.FlushBytes, cfg.Limits.FlushDeleteBytes, cfg.Limits.SegmentBytes = 16<<10, 4<<10, 64<<10
	w, err := flows.NewWorker(cfg, m, prometheus.NewRegistry(), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(t.Context(), t.Context()); err != nil {
		t.Fatal(err)
	}
	if rewound == nil {
		t.Fatal("nothing was rewound")
	}
	if d := open(t, m).VChannel(rewound.VChannel).Doc; d.Epoch <= rewound.Epoch {
		t.Errorf("epoch %d, the rewind's was %d", d.Epoch, rewound.Epoch)
	}
	report := verify(t, broker, m, archive.VerifyOptions{Complete: true})
	if report.Err() != nil || report.Rows != total.Rows || report.Deletes != total.Deletes {
		t.Errorf("%+v: %s", total, report)
	}
}
