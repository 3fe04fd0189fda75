package roundtrip

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"flowgraph/checkpoints"
	"flowgraph/flows"
	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
	"flowgraph/internal/recording"
	"flowgraph/sinks"
	"flowgraph/stages"
	"flowgraph/stages/column"
	"flowgraph/stages/wire"
)

var vchannel = checkpoints.VChannel{Topic: topic, TopicID: "the-topic"}

// run takes a log through a flow of its own until all of it is stored.
func run(t rapid.TB, records []recording.Record, m *membucket.Bucket, flushBytes int64, batch int) {
	t.Helper()
	if err := live(context.Background(), records, m, flushBytes, batch); err != nil {
		t.Fatal(err)
	}
}

// kill does the same and ends the life at once behind its n-th put.
func kill(t rapid.TB, records []recording.Record, m *membucket.Bucket, flushBytes int64, batch, n int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var puts atomic.Int64
	m.After(func(_ context.Context, c membucket.Call) error {
		if c.Op == membucket.Put && puts.Add(1) == int64(n) {
			cancel()
		}
		return nil
	})
	defer m.After(nil)
	if err := live(ctx, records, m, flushBytes, batch); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func live(ctx context.Context, records []recording.Record, m *membucket.Bucket, flushBytes int64, batch int) error {
	pool, budget := &column.Pool{}, flows.NewBudget(1<<30)
	limits := stages.DefaultLimits()
	limits.FlushBytes = flushBytes
	f := flows.NewFlow(vchannel, &flows.Shared{
		Sink: sinks.NewShared(m, pool, 2, 4), Pace: checkpoints.NewPace(), Budget: budget, Claims: make(chan struct{}, 1),
		Buffer: stages.BufferConfig{Limits: limits, Pool: pool}, Options: checkpoints.DefaultOptions(),
		Metrics: flows.NewMetrics(prometheus.NewRegistry(), budget), Log: zerolog.Nop(),
	})
	f.Bounds = func(context.Context) (int64, int64, error) { return 0, 1 << 40, nil }
	f.Until = int64(len(records))
	f.Ready = func(from checkpoints.Position, box *flows.Mailbox) {
		for rest := records[min(from.Offset, int64(len(records))):]; len(rest) > 0; rest = rest[min(batch, len(rest)):] {
			raw := &stages.Raw{Now: time.Now().UnixMilli()}
			for _, r := range rest[:min(batch, len(rest))] {
				raw.Records = append(raw.Records, recordOf(r))
				raw.Bytes += int64(len(r.Value))
			}
			box.Put(raw)
		}
	}
	return f.Run(ctx, ctx)
}

func recordOf(r recording.Record) stages.Record {
	out := stages.Record{Offset: r.Offset, LeaderEpoch: 1, Time: r.Timestamp, Value: r.Value}
	for _, h := range r.Headers {
		out.Headers = append(out.Headers, wire.Header{Key: h.Name, Value: h.Value})
	}
	return out
}

// checkLog holds the bucket against the log, by the archive's oracle.
func checkLog(t rapid.TB, records []recording.Record, m *membucket.Bucket) (*archive.Expected, *archive.Report) {
	t.Helper()
	want := archive.NewExpected()
	for _, r := range records {
		want.Add(r)
	}
	report, err := archive.Check(context.Background(), m, want, archive.CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if report.Err() != nil {
		t.Fatalf("%s", report)
	}
	return want, report
}
