package stages_test

import (
	"slices"
	"testing"
	"time"

	"flowgraph/stages"
)

// Shorthands for the records of a trace. Partition 11 is of collection 1,
// partition 21 of collection 2.
func create(coll int64) rec        { return rec{op: createOp, coll: coll} }
func schema(coll int64, v int) rec { return rec{op: createOp, coll: coll, version: v} }
func auto() rec                    { return row(0) }
func row(seg int64) rec            { return rec{op: insertOp, coll: 1, part: 11, seg: seg, rows: []int64{0}} }
func other() rec                   { return rec{op: insertOp, coll: 2, part: 21, seg: 9, rows: []int64{0}} }
func remove(part int64) rec        { return rec{op: deleteOp, coll: 1, part: part, rows: []int64{0}} }
func tick(ts uint64) rec           { return rec{op: tickOp, ts: ts} }
func drop() rec                    { return rec{op: dropOp, coll: 1, part: 11} }
func flush(seg int64) rec          { return rec{op: sealOp, coll: 1, part: 11, seg: seg} }
func txn(o op, id int64) rec       { return rec{op: o, txn: id} }
func member(id, seg int64) rec {
	return rec{op: memberOp, txn: id, coll: 1, part: 11, seg: seg, rows: []int64{0}}
}
func (r rec) at(off int64) rec             { r.off = off; return r }
func (r rec) sent(id int64, ts uint64) rec { r.msg, r.ts = id, ts; return r }
func (r rec) v(version int) rec            { r.version = version; return r }
func (r rec) when(ms int64) rec            { r.time = ms; return r }

// everywhere runs a first life and crashes it after every number of cuts that
// were acknowledged, every other time with what is final moved to manifests. A second
// life reads record by record and crashes at every place; a third reads to the
// end.
func everywhere(t *testing.T, first, second stages.Limits, log []rec, live func(*life)) {
	t.Helper()
	for n := 0; crashedTwice(t, first, second, log, live, n); n++ {
	}
}

// crashedTwice returns false if the first life has no n cuts.
func crashedTwice(t *testing.T, first, second stages.Limits, log []rec, live func(*life), n int) bool {
	t.Helper()
	for reads := 0; ; reads++ {
		l := newWorld(t, clone(log)...).start(first)
		live(l)
		if n > len(l.pending) {
			return false
		}
		l.ack(n).commit()
		if (n+reads)%2 == 1 {
			l.settle()
		}
		l = l.crash(second)
		for range reads {
			l.poll(1).ack(100).commit()
		}
		end := l.next == len(l.records)
		l.crash(quiet()).finish()
		if end {
			return true
		}
	}
}

// big is a row for an auto segment that is the largest.
func big() rec {
	r := auto()
	r.rows = make([]int64, 400)
	return r
}

func clone(log []rec) []rec {
	log = slices.Clone(log)
	for i := range log {
		log[i].rows = slices.Clone(log[i].rows)
	}
	return log
}

func idleSeals(d time.Duration) stages.Limits {
	l := quiet()
	l.IdleSeal = d
	return l
}

func flushEach() stages.Limits {
	l := quiet()
	l.FlushBytes, l.FlushDeleteBytes = 1, 1
	return l
}

// The seal of an assigned segment that this log does not hold must wait until
// replay has passed what is persisted of its partition's auto segments: a row
// rerouted below that would be taken for persisted.
func TestASealMadeDuringReplayLosesNoRow(t *testing.T) {
	log := []rec{create(1).when(1), auto().when(1_000_000), row(5).when(2)}
	everywhere(t, quiet(), idleSeals(10*time.Second), log, func(l *life) { l.poll(3).free(1) })
}

// A seal found in the log during replay was made in an earlier life, or is
// older than the segment.
func TestASealInTheLogIsNotForALaterSegment(t *testing.T) {
	for _, seal := range []rec{flush(2), flush(0)} {
		log := []rec{create(1), create(2), other(), seal, big(), row(2)}
		everywhere(t, quiet(), quiet(), log, func(l *life) { l.poll(3).poll(9).free(1) })
	}
}

// A Flushed segment that has left the document is not New: its late rows are
// rerouted in every life.
func TestARowOfASegmentThatLeftIsRerouted(t *testing.T) {
	log := []rec{create(1), row(5).when(1000), tick(1).when(500_000), row(5).at(10).when(500_001)}
	everywhere(t, idleSeals(time.Minute), quiet(), log, func(l *life) { l.poll(2).poll(1) })
	everywhere(t, idleSeals(time.Minute), quiet(), log, func(l *life) { l.poll(2).poll(1).poll(1).free(1) })
}

// The seek position passes a transaction's members; its first record must
// not be passed before all of its rows are persisted.
func TestATransactionIsReadAgainFromItsBeginning(t *testing.T) {
	log := []rec{create(1), txn(beginOp, 7), auto(), member(7, 5), auto(), member(7, 0), txn(commitOp, 7), auto()}
	for n := range len(log) + 1 {
		everywhere(t, quiet(), quiet(), log, func(l *life) { l.poll(2).poll(n).free(1).free(1) })
		everywhere(t, flushEach(), quiet(), log, func(l *life) { l.poll(n).poll(9) })
	}
}

// What is rolled back may be sent again under the same message ID.
func TestWhatIsSentAgainAfterARollbackIsNoRepeat(t *testing.T) {
	member := func(id int64) rec { m := member(id, 5); m.msg = 33; return m }
	log := []rec{create(1), txn(beginOp, 7), member(7), txn(rollbackOp, 7), txn(beginOp, 8), member(8), txn(commitOp, 8)}
	everywhere(t, flushEach(), quiet(), log, func(l *life) { l.poll(9) })
}

// A repeat behind the seek position is known as one after a restart.
func TestARepeatAfterARestartIsKnown(t *testing.T) {
	log := []rec{create(1), row(3).sent(1, 10), row(3).sent(1, 10), tick(5), row(3).sent(1, 10), tick(10)}
	everywhere(t, flushEach(), quiet(), log, func(l *life) { l.poll(2) })
	everywhere(t, flushEach(), quiet(), log, func(l *life) { l.poll(2).poll(1).poll(1) })
	everywhere(t, quiet(), quiet(), log, func(l *life) { l.poll(4) })
	// The tick comes while another segment's row, inside the window, holds the position.
	log = []rec{create(1), row(2).sent(4, 10), row(3), tick(5), row(2).sent(4, 10), tick(10), row(2)}
	everywhere(t, quiet(), quiet(), log, func(l *life) { l.poll(2).poll(1).poll(3).free(1) })
}

// A tick releases a message and its repeat while an older one is still
// remembered: a restart reads from between the two.
func TestARepeatReadWithoutItsFirstMessageIsNotNew(t *testing.T) {
	log := []rec{create(1), row(1).sent(1, 10), row(2).sent(2, 20), row(1).sent(1, 10), tick(15), auto()}
	everywhere(t, flushEach(), quiet(), log, func(l *life) { l.poll(2).poll(1).poll(2).poll(1) })
}

// Rows are rerouted as soon as their segment is sealed, so its last cut must
// have been taken then.
func TestASealTakesTheLastCutAtOnce(t *testing.T) {
	log := []rec{create(1), row(5), flush(5), row(5), auto(), schema(1, 1), row(5).v(1)}
	everywhere(t, quiet(), quiet(), log, func(l *life) { l.poll(2).poll(1).poll(2).poll(2).free(2000) })
	everywhere(t, quiet(), quiet(), log, func(l *life) { l.poll(9).free(2000) })
}

// Deletes are persisted beyond a row that is not.
func TestDeletesHaveAnEndOfTheirOwn(t *testing.T) {
	for _, part := range []int64{11, -1} {
		log := []rec{create(1), remove(part), auto().at(9), remove(11)}
		everywhere(t, quiet(), quiet(), log, func(l *life) { l.poll(3).free(1) })
	}
}

// A schema or a drop in the document before the rows that precede it: the
// rows are read again under a schema of their future, or left out.
func TestDDLEntersTheDocumentAfterTheRowsBeforeIt(t *testing.T) {
	log := []rec{create(1), remove(11), row(5), auto(), schema(1, 1), row(6).v(1), drop()}
	for _, l := range []stages.Limits{quiet(), flushEach()} {
		everywhere(t, l, quiet(), log, func(l *life) { l.poll(9) })
	}
}

// Rows older than a schema change are persisted and read again: they do not
// fit the schema that the document has.
func TestAPersistedRowIsDroppedBeforeItsColumnsAreChecked(t *testing.T) {
	log := []rec{create(1), create(2), other(), row(5), auto(), remove(-1), schema(1, 1), row(6).v(1)}
	everywhere(t, quiet(), quiet(), log, func(l *life) { l.poll(9) })
}

// Rows of one record, or of one transaction, share an identity.
func TestACutNeverDividesAPack(t *testing.T) {
	two := row(2)
	two.rows = []int64{0, 0}
	log := []rec{create(1), two, row(2), txn(beginOp, 7), member(7, 2), member(7, 2), txn(commitOp, 7), row(2)}
	everywhere(t, flushEach(), quiet(), log, func(l *life) { l.poll(2).poll(9) })
}

// Replay seals an auto segment by its age at a place that lies before its
// persisted end.
func TestAnEndNeverMovesBack(t *testing.T) {
	old := quiet()
	old.SegmentAge = time.Minute
	log := []rec{create(1).when(1_000_000), row(1).when(2_000_000), auto().when(1000), auto().when(2001)}
	everywhere(t, quiet(), old, log, func(l *life) { l.poll(1).poll(1).poll(2).free(2000) })
	// The larger of two is flushed: the row that holds the position is not.
	log = []rec{create(1).when(1_000_000), row(1).when(2_000_000), big().when(1000), auto().when(2001)}
	everywhere(t, quiet(), old, log, func(l *life) { l.poll(1).poll(1).poll(2).free(1) })
}

// The stored Start of a segment with nothing persisted is information.
func TestTheStartOfASegmentIsItsFirstPersistedRow(t *testing.T) {
	log := []rec{create(1).when(1_000_000), row(1).when(2), auto().when(3), row(1).when(4)}
	everywhere(t, quiet(), idleSeals(time.Minute), log, func(l *life) { l.poll(4) })
	log = []rec{create(1), create(2), other(), flush(0), row(2), auto()}
	everywhere(t, quiet(), quiet(), log, func(l *life) { l.poll(9) })
}

// Two segments opened between two commits have two IDs.
func TestAutoSegmentsNeverShareAnID(t *testing.T) {
	second := auto()
	second.part = 12
	log := []rec{create(1), auto(), second, remove(11), remove(12), remove(-1), auto()}
	everywhere(t, quiet(), quiet(), log, func(l *life) { l.poll(9).free(1 << 20) })
}

// The moment before a drop is the one that people want back: a drop persists
// what came before it, and nothing at or after it.
func TestADropKeepsTheRowsBeforeIt(t *testing.T) {
	whole := rec{op: dropAllOp, coll: 1}
	for _, d := range []rec{drop(), whole} {
		log := []rec{create(1), create(2), other(), row(5), auto(), remove(11), remove(-1), d, row(5), row(6), auto(), remove(11), d, other()}
		everywhere(t, quiet(), quiet(), log, func(l *life) { l.poll(20) })
		everywhere(t, flushEach(), quiet(), log, func(l *life) { l.poll(6).poll(20) })
	}
}
