package sinks_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"flowgraph/checkpoints"
	"flowgraph/internal/membucket"
	"flowgraph/sinks"
	"flowgraph/sinks/binlog"
	"flowgraph/stages/column"
)

const compoundKey = "stats_log/1/2/7/100/1"

// Between the commit that seals and the manifest the process may die as often
// as it likes, and an older owner may still be writing.
func TestCompoundStatisticsAreTheSameWhoeverWritesThem(t *testing.T) {
	b := membucket.New()
	died := errors.New("died")
	b.Before(func(_ context.Context, c membucket.Call) error {
		if c.Op == membucket.Put && c.Key == compoundKey {
			return died
		}
		return nil
	})
	first := beginLife(t, b, nil)
	first.flush(keyField, false, "b", "a")
	first.flush(keyField, false, "c")
	first.flush(keyField, true, "d")
	if err := first.end(); !errors.Is(err, died) || len(b.Keys("segments/")) > 0 {
		t.Fatalf("%v, keys %v", err, b.Keys(""))
	}
	var lost []byte
	for _, c := range b.Calls(membucket.Put, compoundKey) {
		if c.Key == compoundKey {
			lost = c.Data
		}
	}
	b.Before(nil)
	second := beginLife(t, b, nil)
	second.shared.Filter = binlog.BasicFilter // a configuration of its own changes nothing
	if err := second.end(); err != nil {
		t.Fatal(err)
	}
	stored := b.Data(compoundKey)
	if !bytes.Equal(stored, lost) || len(b.Keys("segments/")) != 1 {
		t.Errorf("stored\n%s\nthe first life sent\n%s", stored, lost)
	}
	stats, err := binlog.ReadKeyStats(stored)
	if err != nil || len(stats) != 3 || string(stats[0].Max)+string(stats[1].Max)+string(stats[2].Max) != "bcd" {
		t.Errorf("%+v, %v", stats, err)
	}
	m, err := checkpoints.LoadManifest(t.Context(), b, checkpoints.SegmentRef{Collection: 1, Partition: 2, Segment: segmentID})
	if err != nil || m.CompoundKey() != compoundKey || m.PKField != keyField {
		t.Fatalf("%+v, %v", m, err)
	}
	if err := first.shared.Compound(t.Context(), &m.Segment, first.store.Meta()); err != nil {
		t.Errorf("the first owner, late: %v", err)
	}
}

func TestCompoundStatisticsHoldFoldedFlushesInOrder(t *testing.T) {
	b := membucket.New()
	l := beginLife(t, b, func(o *checkpoints.Options) { o.FoldAbove = 1 })
	for i := range 20 {
		l.flush(keyField, false, string(rune('a'+i)))
	}
	if err := l.end(); err != nil {
		t.Fatal(err)
	}
	if len(b.Keys("segments/")) == 0 {
		t.Error("nothing was folded")
	}
	last := beginLife(t, b, nil)
	last.flush(keyField, true, "z")
	if err := last.end(); err != nil {
		t.Fatal(err)
	}
	stats, err := binlog.ReadKeyStats(b.Data(compoundKey))
	var keys []string
	for i := range stats {
		keys = append(keys, string(stats[i].Max))
	}
	if err != nil || len(keys) != 21 || !slices.IsSorted(keys) {
		t.Errorf("%v, %v", keys, err)
	}
}

// All segments of a worker may be sealed at once.
func TestCompoundStatisticsOfManyKeysWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membucket.New()
		release := make(chan struct{})
		b.Before(func(ctx context.Context, c membucket.Call) error {
			<-release
			return nil
		})
		shared := sinks.NewShared(b, &column.Pool{}, 1, 1)
		var ended sync.WaitGroup
		for id := range int64(3) {
			s := checkpoints.Segment{ID: id + 1, Collection: 1, Partition: 2, Level: checkpoints.L1, State: checkpoints.Flushed, PKField: keyField,
				Rows: 100_000_000, Logs: []checkpoints.Log{{ID: "100000010000000001", Rows: 100_000_000}}}
			ended.Go(func() {
				if err := shared.Compound(t.Context(), &s, nil); !errors.Is(err, checkpoints.ErrNotExist) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if n := len(b.Calls(membucket.Get, "stats_log/")); n != 1 {
			t.Errorf("%d are read at a time", n)
		}
		close(release)
		ended.Wait()
		if n := len(b.Calls(membucket.Get, "stats_log/")); n != 3 {
			t.Errorf("%d were read", n)
		}
	})
}
