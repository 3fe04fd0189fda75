package archive_test

import (
	"context"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/internal/archive"
	"flowgraph/internal/devstack"
	"flowgraph/internal/membucket"
	"flowgraph/internal/traffic"
)

// Logs grow, and workers are killed and begin again, while everything is
// compared again and again.
func TestVerifyTakesAWorkerAtWorkForAFault(t *testing.T) {
	broker, err := devstack.StartBroker(devstack.BrokerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	cfg := traffic.Default(9, 2)
	cfg.MaxRecord, cfg.SegmentRows = 8<<10, 400
	cl, err := kgo.NewClient(broker.Client()...)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for _, l := range cfg.Logs {
		if _, err := kadm.NewClient(cl).CreateTopic(t.Context(), 1, 1, nil, l.Topic); err != nil {
			t.Fatal(err)
		}
	}
	stream, m := traffic.New(cfg), membucket.New()
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	done := make(chan struct{})
	work.Go(func() {
		defer close(done)
		for i := range 12 {
			if err := traffic.Send(ctx, ctx, stream, traffic.Sending{Client: broker.Client(), Records: 250}); err != nil {
				t.Error(err)
				return
			}
			life(t, broker, m, []int64{100, 0, 300}[i%3], i%2 == 1)
		}
	})
	runs, moved := 0, int64(0)
	for running := true; running; runs++ {
		select {
		case <-done:
			running = false
		default:
		}
		report := verify(t, broker, m, archive.VerifyOptions{})
		moved += report.Pending + report.Unread + report.UnderWay
		if report.Err() != nil {
			t.Fatalf("run %d: %s", runs, report)
		}
	}
	if moved == 0 {
		t.Error("no run met a worker at work")
	}
	life(t, broker, m, 0, false)
	report := verify(t, broker, m, archive.VerifyOptions{Complete: true})
	if total := stream.Totals(); report.Err() != nil || report.Rows != total.Rows || report.Deletes != total.Deletes {
		t.Errorf("%+v: %s", total, report)
	}
	t.Logf("%d runs: %s", runs, report)
}
