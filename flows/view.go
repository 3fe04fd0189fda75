package flows

import (
	"sync/atomic"
	"time"

	"flowgraph/checkpoints"
	"flowgraph/sinks"
	"flowgraph/stages"
)

// view is what a flow's buffer held after one of its steps.
type view struct {
	at   int64 // wall time, Unix ms
	read int64 // next offset to be placed then
	seq  uint64
	open []stages.OpenSegment
}

// flight is a cut between the buffer and the acknowledgment.
type flight struct {
	seq     uint64
	segment int64
	first   checkpoints.Position
	end     int64
	rows    int64
	bytes   int64 // memory
	reason  stages.Reason
	since   time.Time
}

// landing is the last flush of a segment in this claim.
type landing struct {
	seq  uint64
	last LastFlush
}

// refreshEvery is how old a view may be when the buffer hands on rows: the
// step after which it blocks, because the store takes nothing, is the one
// that people will want to see.
const refreshEvery = 10 * time.Second

// views is the part of a flow's status that only somebody who looks pays for:
// the buffer belongs to one goroutine, which shows it when it was asked.
type views struct {
	asked atomic.Int64 // Unix ms of a question without an answer yet; 0: none
	last  atomic.Pointer[view]
	seq   uint64 // of the last cut, the buffer's goroutine's alone

	// Under flowStatus.mu.
	flights  map[uint64]flight
	landings map[int64]landing
}

// ask wants the buffer shown at its next step, a second away at most, unless
// it is blocked; it returns since when this has been wanted.
func (v *views) ask(now int64) int64 {
	if v.asked.CompareAndSwap(0, now) {
		return now
	}
	if since := v.asked.Load(); since != 0 {
		return since
	}
	return now
}

// stepped is called by the buffer's goroutine after each step. It costs one
// load while nobody looks and nothing is cut.
func (f *flowStatus) stepped(b *stages.Buffer, p *stages.Pack, cuts []*stages.Cut) {
	flushing := false
	for _, c := range cuts {
		f.views.seq = c.Seq
		flushing = flushing || len(c.Columns) > 0
	}
	if flushing {
		f.takeOff(cuts)
	}
	if f.views.asked.Load() == 0 {
		last := f.views.last.Load()
		if !flushing || last != nil && p.Now-last.at < refreshEvery.Milliseconds() {
			return
		}
	}
	f.views.asked.Store(0)
	f.views.last.Store(&view{at: p.Now, read: p.End.Offset, seq: f.views.seq, open: b.Open()})
}

func (f *flowStatus) takeOff(cuts []*stages.Cut) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range cuts {
		if len(c.Columns) == 0 {
			continue
		}
		fl := c.Change.Flush
		f.views.flights[c.Seq] = flight{
			seq: c.Seq, segment: fl.Segment.ID, first: c.First, end: fl.Segment.End.Offset,
			rows: fl.Log.Rows, bytes: c.Bytes, reason: c.Reason, since: time.Now(),
		}
	}
}

// landed is called once the sink is done with a cut.
func (f *flowStatus) landed(r sinks.Report) {
	fl := r.Cut.Change.Flush
	if fl == nil || fl.Log == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.views.flights, r.Cut.Seq)
	if !r.Stored {
		return
	}
	f.forgetLandings()
	f.views.landings[fl.Segment.ID] = landing{r.Cut.Seq, LastFlush{
		At: time.Now(), Reason: string(r.Cut.Reason), Rows: fl.Log.Rows, Bytes: r.Bytes, TookMS: r.Took.Milliseconds(),
	}}
}

// forgetLandings keeps the landings from growing with history: those of
// segments that the document has let go of go too, all at once from time to
// time.
func (f *flowStatus) forgetLandings() {
	if f.tracker == nil || len(f.views.landings) < 2*f.tracker.Status().Segments+256 {
		return
	}
	kept := f.tracker.View().Segments
	for id := range f.views.landings {
		if kept[id] == nil {
			delete(f.views.landings, id)
		}
	}
}

// clear forgets what was in memory: the flow has ended or begins anew, and
// counts its cuts anew. The lock is held.
func (v *views) clear() {
	v.last.Store(nil)
	v.asked.Store(0)
	v.flights = map[uint64]flight{}
	if v.landings == nil {
		v.landings = map[int64]landing{}
	}
	for id, l := range v.landings {
		v.landings[id] = landing{0, l.last}
	}
}
