package explore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
)

// cut begins the log that follows on one that has lost its last records. A
// leader of a new epoch writes it.
func (w *writer) cut(lost int) (*writer, error) {
	kept := max(0, len(w.records)-lost)
	w.then = &script{
		name: w.name, topicID: w.topicID, limits: w.limits, options: w.options, replay: w.replay,
		expect: archive.NewExpected(), control: maps.Clone(w.control), epochs: maps.Clone(w.epochs),
		records: slices.Clone(w.records[:kept]), kept: kept, cutBack: true,
	}
	next := &writer{script: w.then, clock: w.clock, row: w.row, known: w.known, epoch: w.epoch + 1, ddl: maps.Clone(w.ddl)}
	next.next = w.then.cutAt().Offset
	for _, r := range w.sent {
		if r.Offset < next.next { // of what was lost it is no repeat
			next.sent = append(next.sent, r)
		}
	}
	return next, next.createAgain()
}

// change is a DDL record.
type change struct {
	verb       string
	collection int64
}

// createAgain tells once more of the collections that were created or changed
// in what was lost: of which of them a document knows depends on how far a
// worker had come.
func (w *writer) createAgain() error {
	again, gone := map[int64]bool{}, map[int64]bool{}
	for offset, c := range w.ddl {
		lost := offset >= w.next
		again[c.collection] = again[c.collection] || lost && (c.verb == "create" || c.verb == "alter")
		gone[c.collection] = gone[c.collection] || !lost && c.verb == "drop-collection"
		if lost {
			delete(w.ddl, offset)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(again)) {
		if again[id] && !gone[id] {
			if err := w.write("create", []string{fmt.Sprintf("c%d", id), fmt.Sprintf("v=%d", w.known[id])}); err != nil {
				return err
			}
		}
	}
	return nil
}

// cutAt is where the log parts from that of the part before.
func (s *script) cutAt() checkpoints.Position {
	if s.kept == 0 {
		return checkpoints.Position{LeaderEpoch: -1}
	}
	last := s.records[s.kept-1].Offset
	return checkpoints.Position{Offset: checkpoints.After(last), LeaderEpoch: s.epochs[last]}
}

// lineage answers as Kafka does.
func (w *world) lineage(_ context.Context, epoch int32) (int64, error) {
	end := w.end()
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, r := range w.script.records[:w.produced] {
		if w.script.epochs[r.Offset] > epoch {
			if i == 0 {
				return 0, nil
			}
			return checkpoints.After(w.script.records[i-1].Offset), nil
		}
	}
	return end, nil
}

// loseEnd goes on with the part of the script that follows on a cut. The
// worker dies; those that are held back of the log as it was stay.
func (w *world) loseEnd() {
	if l := w.living(); l != nil {
		l.die()
		<-l.ended
	}
	w.mu.Lock()
	w.script, w.current = w.script.then, nil
	w.produced = w.script.kept
	w.fetched = min(w.fetched, w.produced)
	w.mu.Unlock()
	w.tell("> the log is cut back at %d", w.script.cutAt().Offset)
	w.acceptCut()
}

// acceptCut is the operator's command, broken off at each of its calls.
func (w *world) acceptCut() {
	name := w.script.vchannel().Name()
	for calls := range 1000 {
		for _, effect := range []bool{false, true} {
			b := &brokenOff{Bucket: w.bucket, left: calls, effect: effect}
			doc, _, err := checkpoints.Load(context.Background(), w.bucket, name)
			if errors.Is(err, checkpoints.ErrNotExist) {
				return // nothing was ever claimed
			}
			if err == nil {
				_, err = checkpoints.AcceptCutBack(context.Background(), b, w.script.vchannel(), w.script.cutAt(), doc.Epoch, 0)
			}
			if errors.Is(err, errBroken) {
				continue
			}
			if err != nil && !errors.Is(err, checkpoints.ErrSameLog) {
				w.fail("accept-log: %v", err)
			}
			w.tell("accept-log was broken off at each of %d calls", calls)
			return
		}
	}
	w.fail("accept-log does not come to an end")
}

// lostRows is how many rows and deletes there can be of what was lost.
func (s *script) lostRows() (n int64) {
	for ; s.then != nil; s = s.then {
		if s.then.cutBack {
			n += s.expect.Rows + s.expect.Deletes + s.expect.Excluded
		}
	}
	return n
}
