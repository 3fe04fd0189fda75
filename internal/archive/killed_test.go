package archive_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"flowgraph/checkpoints"
	"flowgraph/flows"
	"flowgraph/internal/archive"
	"flowgraph/internal/devstack"
	"flowgraph/internal/membucket"
	"flowgraph/internal/recording"
	"flowgraph/internal/testlog"
	"flowgraph/internal/traffic"
)

var errKill = errors.New("killed by the test")

// generated writes records of everything that logs hold to a file.
func generated(t *testing.T, seed uint64, records int) (path string, total traffic.Totals) {
	t.Helper()
	return generatedAt(t, traffic.Default(seed, 2).Pace, seed, records)
}

// generatedAt is generated with another pace of the log's own time.
func generatedAt(t *testing.T, pace time.Duration, seed uint64, records int) (path string, total traffic.Totals) {
	t.Helper()
	cfg := traffic.Default(seed, 2)
	cfg.MaxRecord, cfg.SegmentRows, cfg.Pace = 8<<10, 400, pace
	stream, next := traffic.New(cfg), map[string]int64{}
	var list []recording.Record
	for range records {
		r := stream.Next()
		r.Offset = next[r.Topic]
		next[r.Topic]++
		list = append(list, r)
	}
	return testlog.Recording(t, list), stream.Totals()
}

// life runs a worker with small limits until the bucket has seen so many
// puts; with 0 to the logs' ends.
func life(t *testing.T, broker *devstack.Broker, m *membucket.Bucket, puts int64, after bool) {
	t.Helper()
	ctx, kill := context.WithCancelCause(t.Context())
	defer kill(nil)
	var seen atomic.Int64
	hook := func(_ context.Context, c membucket.Call) error {
		if c.Op == membucket.Put && puts > 0 && seen.Add(1) >= puts {
			kill(errKill)
			return errKill
		}
		return nil
	}
	if after {
		m.After(hook)
	} else {
		m.Before(hook)
	}
	defer m.After(nil)
	defer m.Before(nil)
	testlog.Read(ctx, t, broker, m, func(cfg *flows.Config) {
		cfg.Topics, cfg.Partitions = nil, map[string][]int32{}
		for _, l := range traffic.Default(0, 2).Logs {
			cfg.Partitions[l.Topic] = []int32{l.Partition}
		}
		cfg.Limits.FlushBytes, cfg.Limits.FlushDeleteBytes = 16<<10, 4<<10
		cfg.Limits.SegmentBytes = 64 << 10
		cfg.Limits.IdleSeal, cfg.Limits.SuccessorSeal = cfg.Limits.IdleSeal/100, cfg.Limits.SuccessorSeal/20
	})
}

// A claim that is killed behind its document has left no mark, which is no
// fault of the bucket; a document that was committed has one.
func TestAClaimThatWasBrokenOffIsADamagedBucket(t *testing.T) {
	m := membucket.New()
	v := checkpoints.VChannel{Topic: "dml", TopicID: "topic-id"}
	m.Before(func(_ context.Context, c membucket.Call) error {
		if c.Op == membucket.Put && c.Key == checkpoints.BornKey(v.Name()) {
			return errKill
		}
		return nil
	})
	store, doc, err := checkpoints.Claim(t.Context(), m, v, 0)
	if !errors.Is(err, errKill) {
		t.Fatal(err)
	}
	want, err := archive.Expect(func(yield func(recording.Record, error) bool) {})
	if err != nil {
		t.Fatal(err)
	}
	if report := check(t, m, want, archive.CheckOptions{}); report.Err() != nil {
		t.Errorf("after the claim: %s", report)
	}
	if _, err := store.Commit(t.Context(), doc); err != nil {
		t.Fatal(err)
	}
	if report := check(t, m, want, archive.CheckOptions{}); report.Err() == nil {
		t.Errorf("a committed document without its mark: %s", report)
	}
}

func TestAWorkerKilledAnywhereLeavesWhatItHasPersistedExact(t *testing.T) {
	for seed := range uint64(2) {
		path, total := generated(t, seed, 3000)
		broker := testlog.Broker(t, path)
		defer broker.Close()
		want, err := archive.Expect(archive.Recorded(path))
		if err != nil {
			t.Fatal(err)
		}
		if want.Rows != total.Rows || want.Deletes != total.Deletes || want.Bad != total.Bad || want.Repeated != total.Repeated {
			t.Errorf("seed %d: expected %d rows, %d deletes, %d bad, %d repeated, made %+v", seed, want.Rows, want.Deletes, want.Bad, want.Repeated, total)
		}
		m := membucket.New()
		for i, puts := range []int64{3, 7, 40, 41, 150, 300, 77, 500, 1000} {
			life(t, broker, m, puts, i%2 == 1)
			if report := check(t, m, want, archive.CheckOptions{Partial: true}); report.Err() != nil {
				t.Fatalf("seed %d, after %d puts of life %d:\n%s", seed, puts, i, report)
			}
		}
		life(t, broker, m, 0, false)
		report := check(t, m, want, archive.CheckOptions{})
		t.Logf("seed %d: %s", seed, report)
		if report.Err() != nil || report.Rows != total.Rows || report.Deletes != total.Deletes || report.Quarantined != total.Bad {
			t.Errorf("seed %d, made %+v:\n%s", seed, total, report)
		}
		if len(m.Calls(membucket.Put, checkpoints.DocumentPrefix)) == 0 || report.Unreferenced == 0 {
			t.Error("no life was killed while it wrote")
		}
	}
}
