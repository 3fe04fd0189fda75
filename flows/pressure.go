package flows

import (
	"cmp"
	"slices"
	"time"
)

// Where memory pressure begins: flushing starts at three quarters of the
// budget and aims at half; reading stops at the whole of it.
const (
	relieveAbove = 0.75
	relieveTo    = 0.5
	mailboxMin   = 16 << 20
)

// admits decides before each poll whether more may be read, and keeps the
// time of the pauses.
func (w *Worker) admits() bool {
	reads := w.decide()
	w.metrics.reading.set(!reads, time.Now())
	return reads
}

// decide says whether more may be read. Over the budget the worker first has
// segments flushed, then reads no more; a flow that lags behind the others is
// paused alone, so that the poll goes on for them.
func (w *Worker) decide() bool {
	w.mu.Lock()
	w.held = false
	flows := make([]*assignment, 0, len(w.parts))
	for _, a := range w.parts {
		if a.installed.Load() != nil {
			flows = append(flows, a)
		}
	}
	w.mu.Unlock()
	w.relieve(flows)
	// Open transactions are counted, but not waited for: their commits are
	// still to be read.
	var open int64
	for _, a := range flows {
		if i := a.installed.Load(); i != nil {
			open += i.mailbox.account.open.Load()
		}
	}
	flows = w.heed(flows)
	if w.shared.Budget.Over() > open {
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
	w.throttled = false
	for _, a := range flows {
		part := map[string][]int32{a.topic: {a.id}}
		switch n := a.fetched(); {
		case n > high && !a.paused:
			a.paused = true
			a.status.paused.set(true, time.Now())
			w.client.PauseFetchPartitions(part)
		case n < high/2 && a.paused:
			a.paused = false
			a.status.paused.set(false, time.Now())
			w.client.ResumeFetchPartitions(part)
		}
		w.throttled = w.throttled || a.paused
	}
	return true
}

func (a *assignment) fetched() int64 {
	if i := a.installed.Load(); i != nil {
		return i.mailbox.account.fetched.Load()
	}
	return 0
}

// relieve asks the flows that buffer most to flush their largest segments.
// What is being flushed already will be free soon and is not asked for again.
func (w *Worker) relieve(flows []*assignment) {
	limit := float64(w.shared.Budget.Limit())
	type holder struct {
		mailbox  *Mailbox
		buffered int64
	}
	var stay int64
	var holders []holder
	for _, a := range flows {
		i := a.installed.Load()
		if i == nil {
			continue
		}
		account := i.mailbox.account
		h := holder{i.mailbox, account.buffered.Load()}
		stay += h.buffered + account.fetched.Load() + account.open.Load()
		if h.buffered > 0 {
			holders = append(holders, h)
		}
	}
	if float64(stay) < limit*relieveAbove {
		return
	}
	slices.SortFunc(holders, func(a, b holder) int { return cmp.Compare(b.buffered, a.buffered) })
	for need := stay - int64(limit*relieveTo); need > 0 && len(holders) > 0; holders = holders[1:] {
		need -= holders[0].mailbox.Ask(min(need, holders[0].buffered))
	}
}
