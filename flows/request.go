package flows

import (
	"errors"
	"fmt"

	"flowgraph/stages"
)

// Done is what a flow did at a request.
type Done struct {
	Segments int    // cut for it
	Rows     int64  // in those cuts, deletes included
	Bytes    int64  // of memory, the same
	Unsealed int    // segments whose seal waits until reading has passed what is persisted of others
	Cut      uint64 // the last one so far, of whatever reason
}

// requestsMost is how many requests may wait for a flow that does not get to
// them: whoever asks again and again must not fill memory.
const requestsMost = 64

var (
	errEnded   = errors.New("the flow has ended: what a drain has not flushed is read again from the checkpoint")
	errCrowded = fmt.Errorf("%d requests wait for this flow already", requestsMost)
)

// Request leaves a request behind the batches that are here already, so that
// it is for their rows too. The flow's own goroutine obeys it between two
// packs, and answers on the channel, which is never closed: the flow may end
// before. Cut is then the last cut so far; once that is committed, so is all
// that a flush was asked for.
func (m *Mailbox) Request(r stages.Request) (<-chan Done, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
		return nil, errEnded
	case len(m.requests) >= requestsMost:
		return nil, errCrowded
	}
	answer := make(chan Done, 1)
	m.requests[&r] = answer
	m.queue = append(m.queue, &stages.Raw{Request: &r})
	m.signal()
	return answer, nil
}

// obeyed answers a request.
func (m *Mailbox) obeyed(r *stages.Request, d Done) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if answer := m.requests[r]; answer != nil {
		delete(m.requests, r)
		answer <- d // it holds one, and gets no other
	}
}

// end is close, once nothing of the flow is left.
func (m *Mailbox) end() {
	m.close()
	close(m.over)
}

// done sums up the cuts that a request has led to.
func done(r *stages.Request, cuts []*stages.Cut, b *stages.Buffer, last uint64) Done {
	d := Done{Unsealed: b.Unsealed(), Cut: last}
	for _, c := range cuts {
		f := c.Change.Flush
		asked := f != nil && (c.Reason == stages.Requested || r.Seal && f.Sealed && (r.Collection == 0 || r.Collection == f.Segment.Collection))
		if !asked {
			continue
		}
		d.Segments++
		if f.Log != nil {
			d.Rows, d.Bytes = d.Rows+f.Log.Rows, d.Bytes+c.Bytes
		}
	}
	return d
}
