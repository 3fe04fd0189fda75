package checkpoints_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"flowgraph/checkpoints"
	"flowgraph/internal/membucket"
)

// held keeps the document put that comes next from arriving and lets the test
// deliver it later; its sender sees a time-out.
type held struct {
	call membucket.Call
	got  bool
}

func (h *held) hook(_ context.Context, c membucket.Call) error {
	if c.Op == membucket.Put && c.Key == checkpoints.DocumentKey(v0.Name()) && !h.got {
		h.call, h.got = c, true
		return context.DeadlineExceeded
	}
	return nil
}

func (h *held) deliver(t *testing.T, b *membucket.Bucket) error {
	t.Helper()
	if !h.got {
		t.Fatal("nothing was held back")
	}
	_, err := b.Put(t.Context(), h.call.Key, checkpoints.Object{Parts: [][]byte{h.call.Data}}, h.call.Condition)
	return err
}

// doomed is a context that ends as soon as the bucket is asked, as a client's
// time-out would end a call: the outcome is unknown.
func doomed(t *testing.T, b *membucket.Bucket, h membucket.Hook) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	b.Before(func(c context.Context, call membucket.Call) error {
		err := h(c, call)
		if err != nil {
			cancel()
		}
		return err
	})
	return ctx
}

func TestALateAttemptIsNotTakenForTheNewerOne(t *testing.T) {
	b := membucket.New()
	l := begin(t, b)
	l.ack(l.rows(segment(1, 0, 3), 3))
	var late held
	if err := l.tracker.Flush(doomed(t, b, late.hook)); err == nil {
		t.Fatal("a commit without a reply is called stored")
	}
	b.Before(nil)
	l.ack(l.last(segment(1, 3, 5), 2))
	// The old attempt lands just before the newer one.
	if err := late.deliver(t, b); err != nil {
		t.Fatal(err)
	}
	l.flush()
	if d := l.stored(); d.Seek.Offset != 5 || d.Segments[1] != nil {
		t.Errorf("stored %s", asJSON(d))
	}
	if len(b.Keys("segments/")) != 1 {
		t.Errorf("manifests %v", b.Keys("segments/"))
	}
	if n := len(b.Calls(membucket.Get, checkpoints.DocumentKey(v0.Name()))); n < 2 {
		t.Error("the conflict was not read back")
	}
}

func TestAnAttemptThatLandsAfterTheNewerOneIsRefused(t *testing.T) {
	b := membucket.New()
	l := begin(t, b)
	l.ack(l.rows(segment(1, 0, 3), 3))
	var late held
	if err := l.tracker.Flush(doomed(t, b, late.hook)); err == nil {
		t.Fatal("a commit without a reply is called stored")
	}
	b.Before(nil)
	l.ack(moved(9, nil))
	l.flush()
	wantError(t, late.deliver(t, b), checkpoints.ErrConflict)
	if d := l.stored(); d.Seek.Offset != 9 || d.Sequence != 2 {
		t.Errorf("stored %s", asJSON(d))
	}
}

func TestACommitWhoseReplyWasLostIsFoundStored(t *testing.T) {
	b := membucket.New()
	l := begin(t, b)
	l.ack(moved(4, nil))
	conflicts := 0
	b.After(func(_ context.Context, c membucket.Call) error {
		if c.Op == membucket.Put && conflicts == 0 {
			conflicts++
			return checkpoints.ErrConflict // what an adapter says that does not read back
		}
		return nil
	})
	l.flush()
	if d := l.stored(); conflicts != 1 || d.Sequence != 1 || d.Seek.Offset != 4 {
		t.Errorf("stored %s", asJSON(d))
	}
	l.ack(moved(5, nil))
	l.flush()
	if d := l.stored(); d.Sequence != 2 {
		t.Errorf("stored %s", asJSON(d))
	}
}

func TestAZombieCannotMoveThePositionBack(t *testing.T) {
	b := membucket.New()
	zombie := begin(t, b)
	zombie.ack(moved(100, nil))
	zombie.flush()
	owner := begin(t, b)
	owner.ack(moved(200, nil))
	owner.flush()
	zombie.ack(zombie.last(segment(1, 100, 105), 5))
	wantError(t, zombie.tracker.Flush(t.Context()), checkpoints.ErrFenced)
	puts := len(b.Calls(membucket.Put, ""))
	zombie.ack(moved(300, nil))
	wantError(t, zombie.tracker.Flush(t.Context()), checkpoints.ErrFenced)
	wantError(t, zombie.tracker.Run(t.Context()), checkpoints.ErrFenced)
	if n := len(b.Calls(membucket.Put, "")); n != puts {
		t.Errorf("%d objects put after the fencing", n-puts)
	}
	if d := owner.stored(); d.Seek.Offset != 200 || d.Owner != owner.doc.Owner {
		t.Errorf("stored %s", asJSON(d))
	}
	if next := begin(t, b); next.doc.Seek.Offset != 200 {
		t.Errorf("the next life starts at %d", next.doc.Seek.Offset)
	}
}

func TestADocumentRemovedUnderItsOwnerFencesIt(t *testing.T) {
	b := membucket.New()
	l := begin(t, b)
	b.Remove(checkpoints.DocumentKey(v0.Name()))
	l.ack(moved(1, nil))
	wantError(t, l.tracker.Flush(t.Context()), checkpoints.ErrFenced)
	if b.Data(checkpoints.DocumentKey(v0.Name())) != nil {
		t.Error("the document was written again")
	}
}

func TestACommitThatWouldMoveBackIsNotSent(t *testing.T) {
	open := func(d *checkpoints.Document, change func(*checkpoints.Segment)) {
		s := *d.Segments[7]
		change(&s)
		d.Segments[7] = &s
	}
	for name, lower := range map[string]func(*checkpoints.Document){
		"seek position 8":    func(d *checkpoints.Document) { d.Seek.Offset--; d.ReadFrom.Offset = d.Seek.Offset },
		"read_from 8":        func(d *checkpoints.Document) { d.ReadFrom.Offset-- },
		"segment 7: end 3":   func(d *checkpoints.Document) { open(d, func(s *checkpoints.Segment) { s.End.Offset-- }) },
		"left while open":    func(d *checkpoints.Document) { delete(d.Segments, 7) },
		"auto end":           func(d *checkpoints.Document) { d.Collections[collection].Partitions[partition].AutoEnd = 0 },
		"partition 101":      func(d *checkpoints.Document) { delete(d.Collections[collection].Partitions, partition) },
		"collection 100":     func(d *checkpoints.Document) { delete(d.Collections, collection) },
		"segment 8: changed": func(d *checkpoints.Document) { d.Segments[8].End.Offset++ },
	} {
		t.Run(name, func(t *testing.T) {
			b := membucket.New()
			l := begin(t, b)
			l.ack(l.rows(segment(7, 0, 4), 2))
			l.ack(l.last(auto(l.names.SegmentID(), 4, 6), 2))
			l.ack(moved(9, nil))
			l.flush()
			d := *l.stored()
			s := segment(8, 6, 9)
			s.State, s.Rows, s.Logs = checkpoints.Flushed, 1, []checkpoints.Log{{ID: l.names.LogID(), Rows: 1}}
			d.Segments[8] = &s
			if _, err := l.store.Commit(t.Context(), &d); err != nil {
				t.Fatal(err)
			}
			low := *stored(t, b)
			lower(&low)
			puts := len(b.Calls(membucket.Put, ""))
			_, err := l.store.Commit(t.Context(), &low)
			wantError(t, err, checkpoints.ErrBackwards)
			if !strings.Contains(err.Error(), name) {
				t.Errorf("error %q does not say %s", err, name)
			}
			if len(b.Calls(membucket.Put, "")) != puts {
				t.Error("it was sent")
			}
		})
	}
}

func TestARefusedCommitIsTriedAFewTimesAndThenEndsTheFlow(t *testing.T) {
	b := membucket.New()
	l := begin(t, b)
	b.Before(refuse(membucket.Put, "checkpoints/", checkpoints.ErrRefused))
	l.ack(moved(1, nil))
	err := l.tracker.Run(t.Context())
	wantError(t, err, checkpoints.ErrRefused)
	calls := b.Calls(membucket.Put, "checkpoints/")
	if c := calls[len(calls)-1].Condition; c.Refusals != 10 {
		t.Errorf("refusals allowed: %d", c.Refusals)
	}
	if errors.Is(err, context.Canceled) {
		t.Errorf("cause hidden: %v", err)
	}
}

func TestOnlyAnEarlierAttemptOfThisClaimIsAdopted(t *testing.T) {
	for name, change := range map[string]func(*checkpoints.Document){
		"another owner of this epoch":        func(d *checkpoints.Document) { d.Owner = "somebody" },
		"another epoch of this owner":        func(d *checkpoints.Document) { d.Epoch++ },
		"this attempt's number, other bytes": func(d *checkpoints.Document) { d.Sequence, d.Seek.Offset = 1, 8 },
		"a later attempt":                    func(d *checkpoints.Document) { d.Sequence = 7 },
	} {
		b := membucket.New()
		l := begin(t, b)
		d := l.stored()
		change(d)
		data, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		b.Set(checkpoints.DocumentKey(v0.Name()), data)
		for range 2 {
			if _, err := l.store.Commit(t.Context(), l.doc); !errors.Is(err, checkpoints.ErrFenced) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := len(b.Calls(membucket.Put, checkpoints.DocumentKey(v0.Name()))); n != 2 { // the claim, one commit
			t.Errorf("%s: %d puts", name, n)
		}
	}
}
