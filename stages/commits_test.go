package stages_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"flowgraph/checkpoints"
	"flowgraph/internal/membucket"
	"flowgraph/stages"
)

// A log in which a record comes every two seconds has gone quiet after each of
// them. Its position moves with all of them, and is stored as rarely as one
// that never goes quiet; what is flushed or defined is stored at once.
func TestALogThatGoesQuietAfterEveryRecordDoesNotCostACommitForEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membucket.New()
		store, doc, err := checkpoints.Claim(t.Context(), b, v0, 0)
		if err != nil {
			t.Fatal(err)
		}
		tracker := checkpoints.NewTracker(store, doc, checkpoints.NewPace(), checkpoints.DefaultOptions())
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- tracker.Run(ctx) }()
		l := newLine(t, quiet())
		offset := int64(0)
		// minute is one of the log, whose record every two seconds is of a kind.
		minute := func(kind func() rec) (documents int) {
			before := len(b.Calls(membucket.Put, checkpoints.DocumentKey(v0.Name())))
			for range 30 {
				for _, in := range []*stages.Raw{{Records: []stages.Record{kind().at(offset).record()}}, {Signal: stages.Idle}} {
					for _, c := range l.send(in) {
						tracker.Ack(c.Seq, c.Change)
					}
					time.Sleep(time.Second)
				}
				offset++
			}
			return len(b.Calls(membucket.Put, checkpoints.DocumentKey(v0.Name()))) - before
		}
		ticks := func() rec { return tick(uint64(time.Now().UnixMilli()) << 18) }
		hour := 0
		for range 60 {
			hour += minute(ticks)
		}
		if hour > 65 || hour < 55 {
			t.Errorf("%d documents in an hour of ticks", hour)
		}
		partition := int64(10)
		if n := minute(func() rec { partition++; return rec{op: partitionOp, coll: 1, part: partition} }); n < 30 {
			t.Errorf("%d documents for 30 partitions, each of which a silence followed", n)
		}
		minute(ticks)
		for _, c := range l.send(&stages.Raw{Request: &stages.Request{}}) {
			tracker.Ack(c.Seq, c.Change)
		}
		synctest.Wait()
		if s := tracker.Status(); s.Seek.Offset != offset {
			t.Errorf("stored position %d after a request, read up to %d", s.Seek.Offset, offset)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("run: %v", err)
		}
	})
}
