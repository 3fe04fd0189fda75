package archive_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/flows"
	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
	"flowgraph/internal/testlog"
)

// The command claims under a worker's feet: the worker is fenced, claims again
// and reads everything once more.
func TestARewindUnderARunningWorkerDoublesOrLosesRows(t *testing.T) {
	path, total := generated(t, 6, 2000)
	broker := testlog.Broker(t, path)
	defer broker.Close()
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
	testlog.Read(t.Context(), t, broker, m, func(cfg *flows.Config) {
		cfg.Limits.FlushBytes, cfg.Limits.FlushDeleteBytes, cfg.Limits.SegmentBytes = 16<<10, 4<<10, 64<<10
	})
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
