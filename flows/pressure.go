package flows

import (
	"time"

	"flowgraph/stages"
)

// Where memory pressure begins: flushing starts at three quarters of the
// budget and aims at half; reading stops at the whole of it.
const (
	relieveAbove = 0.75
	relieveTo    = 0.5
	reliefEvery  = 200 * time.Millisecond
	mailboxMin   = 16 << 20
)

// admits decides before each poll whether more may be read. Over the budget
// the worker first has segments flushed, then reads no more; a flow that
// lags behind the others is paused alone, so that the poll goes on for them.
func (w *Worker) admits() bool {
	w.mu.Lock()
	flows := make([]*assignment, 0, len(w.parts))
	for _, a := range w.parts {
		if a.mailbox.Load() != nil {
			flows = append(flows, a)
		}
	}
	w.mu.Unlock()
	w.relieve(flows)
	if w.shared.Budget.Over() > 0 {
		return false
	}
	high := max(mailboxMin, w.shared.Budget.Limit()/8)
	full := 0
	for _, a := range flows {
		if a.fetched() > high {
			full++
		}
	}
	if full > 0 && full == len(flows) {
		return false // not polling holds all of them, and throws no fetch away
	}
	for _, a := range flows {
		part := map[string][]int32{a.topic: {a.id}}
		switch n := a.fetched(); {
		case n > high && !a.paused:
			a.paused = true
			w.client.PauseFetchPartitions(part)
		case n < high/2 && a.paused:
			a.paused = false
			w.client.ResumeFetchPartitions(part)
		}
	}
	return true
}

func (a *assignment) fetched() int64 {
	if m := a.mailbox.Load(); m != nil {
		return m.account.fetched.Load()
	}
	return 0
}

// relieve asks the flow that buffers most to flush its largest segments. What
// is being flushed already will be free soon and is not asked for again.
func (w *Worker) relieve(flows []*assignment) {
	limit := float64(w.shared.Budget.Limit())
	var stay float64
	var largest *assignment
	var most int64
	for _, a := range flows {
		m := a.mailbox.Load()
		if m == nil {
			continue
		}
		buffered := m.account.buffered.Load()
		stay += float64(buffered + m.account.fetched.Load())
		if buffered > most && time.Since(a.relief) > reliefEvery {
			largest, most = a, buffered
		}
	}
	if stay < limit*relieveAbove || largest == nil {
		return
	}
	largest.relief = time.Now()
	if m := largest.mailbox.Load(); m != nil {
		m.put(&stages.Raw{Free: int64(stay - limit*relieveTo)})
	}
}
