package stages_test

import (
	"math"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"flowgraph/stages"
)

// Whatever the log and the schedule: every row once, inside its segment's
// range, and nothing that is stored ever moves back.
func TestAnyLogUnderAnyScheduleIsExact(t *testing.T) {
	for i := range 25 { // times the checks that are usual for one property
		t.Run(strconv.Itoa(i), rapid.MakeCheck(func(t *rapid.T) {
			w := newWorld(t, drawLog(t)...)
			w.forgetful = rapid.Bool().Draw(t, "forgetful")
			l := w.start(drawLimits(t))
			for range rapid.IntRange(10, 50).Draw(t, "acts") {
				l = l.act(t)
			}
			l.finish()
		}))
	}
}

// act does one thing that can happen to a worker.
func (l *life) act(t *rapid.T) *life {
	some := rapid.IntRange(1, 6)
	switch rapid.IntRange(0, 15).Draw(t, "act") {
	case 0, 1, 2, 3:
		return l.poll(some.Draw(t, "records"))
	case 4, 5, 6:
		return l.ack(some.Draw(t, "cuts"))
	case 7:
		return l.idle(time.Duration(some.Draw(t, "minutes")) * time.Minute)
	case 8:
		return l.free(int64(some.Draw(t, "KiB")) << 10)
	case 9, 10:
		return l.commit()
	case 11, 12:
		return l.settle()
	case 13:
		l.step(&stages.Raw{Signal: stages.Drain}) // a graceful stop that the grace period ended
	}
	// What was uploaded and not committed lies there for ever.
	l.upload(l.pending[:rapid.IntRange(0, len(l.pending)).Draw(t, "uploads")])
	return l.crash(drawLimits(t))
}

func drawLimits(t *rapid.T) stages.Limits {
	l := quiet()
	bytes := rapid.SampledFrom([]int64{1, 300, 1 << 30})
	minutes := rapid.SampledFrom([]time.Duration{time.Minute, 10 * time.Minute, 1000 * time.Hour})
	l.FlushBytes, l.FlushDeleteBytes = bytes.Draw(t, "flush bytes"), bytes.Draw(t, "flush delete bytes")
	l.FlushAge = minutes.Draw(t, "flush age")
	l.SegmentRows = rapid.SampledFrom([]int64{0, 1, 4}).Draw(t, "segment rows")
	l.SegmentBytes = rapid.SampledFrom([]int64{100, 1 << 40}).Draw(t, "segment bytes")
	l.SegmentAge, l.IdleSeal, l.SuccessorSeal = minutes.Draw(t, "segment age"), minutes.Draw(t, "idle"), minutes.Draw(t, "successor")
	return l
}

// script draws a log record by record.
type script struct {
	log     []rec
	next    int64
	time    int64
	version [3]int  // of each collection's schema
	open    []int64 // transactions
	txns    int64
	sent    []rec // with a message ID
	tick    uint64
	places  int
}

func drawLog(t *rapid.T) []rec {
	s := &script{time: 1_000_000, tick: math.MaxUint32}
	s.add(create(1))
	s.add(create(2))
	flavour := rapid.IntRange(0, 2).Draw(t, "flavour")
	s.places = rapid.SampledFrom([]int{2, 3, 5, 9}).Draw(t, "places")
	for range rapid.IntRange(3, 35).Draw(t, "records") {
		s.gap(t)
		switch what := rapid.IntRange(0, 31).Draw(t, "record"); {
		case what < 11:
			s.row(t, flavour)
		case what < 16:
			s.delete(t, flavour)
		case what < 18:
			s.ddl(t)
		case what < 20:
			s.add(flush(rapid.Int64Range(0, 3).Draw(t, "seal")))
		case what < 22:
			s.add(tick(s.tick + rapid.SampledFrom([]uint64{0, 0, 1, 2, 100}).Draw(t, "tick")))
		case what < 24:
			s.bad(t)
		case flavour == 1 && len(s.sent) > 0:
			// No tick has passed the row: behind one it would be another row.
			if r := rapid.SampledFrom(s.sent[max(0, len(s.sent)-4):]).Draw(t, "repeat"); r.ts > s.tick {
				s.add(r)
			}
		case flavour == 2:
			s.transaction(t)
		}
	}
	return s.log
}

// gap leaves offsets out, as transaction markers and compaction do, and lets
// log time pass, not always forward.
func (s *script) gap(t *rapid.T) {
	s.next += rapid.SampledFrom([]int64{0, 0, 0, 0, 1, 3}).Draw(t, "gap")
	s.time += rapid.SampledFrom([]int64{0, 500, 2000, 70_000, 700_000, -90_000}).Draw(t, "ms")
}

// add appends a record. Timestamps rise as Milvus gives them out; the row
// timestamps of a WAL are never below its last tick.
func (s *script) add(r rec) {
	r.off, r.time = s.next, s.time
	if r.ts == 0 {
		r.ts = s.tick
	}
	if r.op == tickOp {
		s.tick = r.ts
	}
	s.next++
	s.log = append(s.log, r)
}

// place draws a collection, a partition and a segment of it, 0 for none.
// Segments 1 to 3 are of partition 11, 4 of 12, 5 of 21.
func (s *script) place(t *rapid.T) rec {
	r := rapid.SampledFrom([]rec{
		{coll: 1, part: 11}, {coll: 1, part: 11, seg: 1}, {coll: 2, part: 21}, {coll: 1, part: 11, seg: 2}, {coll: 2, part: 21, seg: 5},
		{coll: 1, part: 12}, {coll: 1, part: 12, seg: 4}, {coll: 1, part: 11, seg: 3}, {coll: 1, part: 13},
	}[:s.places]).Draw(t, "place")
	r.rows = make([]int64, rapid.SampledFrom([]int{1, 1, 1, 3, 0}).Draw(t, "rows"))
	for i := range r.rows {
		r.rows[i] = -1 // numbered below
	}
	return r
}

func (s *script) row(t *rapid.T, flavour int) {
	r := s.place(t)
	r.op, r.version = insertOp, s.version[r.coll]
	s.send(t, r, flavour)
}

func (s *script) delete(t *rapid.T, flavour int) {
	r := s.place(t)
	r.op, r.seg = deleteOp, 0
	if rapid.Bool().Draw(t, "everywhere") {
		r.part = -1
	}
	s.send(t, r, flavour)
}

// send numbers a message's rows and gives it a message ID in logs that are
// rich in repeats.
func (s *script) send(t *rapid.T, r rec, flavour int) {
	first := int64(len(s.log)) * 10
	for i := range r.rows {
		r.rows[i] = first + int64(i)
	}
	if flavour == 1 && rapid.Bool().Draw(t, "message ID") {
		r.msg, r.ts = first, s.tick+rapid.Uint64Range(0, 3).Draw(t, "ahead of the tick")
		s.sent = append(s.sent, r)
	}
	s.add(r)
}

func (s *script) ddl(t *rapid.T) {
	coll := rapid.Int64Range(1, 2).Draw(t, "collection")
	switch rapid.IntRange(0, 4).Draw(t, "ddl") {
	case 0:
		s.add(rec{op: partitionOp, coll: 1, part: rapid.Int64Range(11, 13).Draw(t, "partition")})
	case 1:
		s.add(rec{op: dropOp, coll: 1, part: rapid.Int64Range(11, 13).Draw(t, "partition")})
	case 2:
		s.add(rec{op: dropAllOp, coll: coll})
	default:
		// The schema at a transaction's commit counts, and a repeat keeps that of
		// its first message.
		if len(s.open) > 0 || len(s.sent) > 0 {
			return
		}
		s.version[coll] += rapid.IntRange(0, 1).Draw(t, "new version")
		s.add(schema(coll, s.version[coll]))
	}
}

func (s *script) transaction(t *rapid.T) {
	switch {
	case len(s.open) == 0 || len(s.open) == 1 && rapid.Bool().Draw(t, "one more"):
		s.txns++
		s.open = append(s.open, s.txns)
		s.add(txn(beginOp, s.txns))
	case rapid.IntRange(0, 2).Draw(t, "member") > 0:
		r := s.place(t)
		r.op, r.version, r.txn = memberOp, s.version[r.coll], rapid.SampledFrom(s.open).Draw(t, "transaction")
		s.send(t, r, 0)
	default:
		i := rapid.IntRange(0, len(s.open)-1).Draw(t, "transaction")
		s.add(txn(rapid.SampledFrom([]op{commitOp, commitOp, commitOp, rollbackOp}).Draw(t, "end"), s.open[i]))
		s.open = append(s.open[:i:i], s.open[i+1:]...)
	}
}

// bad adds what must go to quarantine, or mean nothing.
func (s *script) bad(t *rapid.T) {
	r := rapid.SampledFrom([]rec{
		{op: badOp}, {op: badOp, value: []byte("garbage")}, {op: badOp, coll: 2, part: 22, value: broken()}, {op: controlOp}, {op: aliasOp},
	}).Draw(t, "bad")
	s.add(r)
}

// broken is an insert whose counts disagree.
func broken() []byte {
	r := rec{coll: 2, part: 22, rows: []int64{1, 2}}
	m := insertOf(r)
	m.NumRows = 3
	return marshal(m)
}
