package flows

import (
	"sync"

	"flowgraph/stages"
)

// Mailbox is where the poll loop leaves a flow's records. It never blocks the
// loop: what one flow cannot take in time is bounded by pausing its
// partition, not by waiting.
type Mailbox struct {
	account *Account
	wake    chan struct{}
	over    chan struct{} // closed once the flow has ended, and all that it could commit is

	mu     sync.Mutex
	queue  []*stages.Raw
	enough int64 // bytes of a batch that the source is told of
	free   int64 // bytes asked to be flushed, and not yet
	asked  bool  // free is on its way through the stages
	closed bool
	// requests are those that wait for an answer.
	requests map[*stages.Request]chan<- Done
}

func newMailbox(a *Account) *Mailbox {
	return &Mailbox{account: a, wake: make(chan struct{}, 1), over: make(chan struct{}), requests: map[*stages.Request]chan<- Done{}}
}

// Put leaves a batch; after close it is dropped, to be read again by whoever
// comes next. It may join the one before if that is little.
func (m *Mailbox) Put(raw *stages.Raw) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	m.account.add(&m.account.fetched, raw.Bytes)
	if raw.Bytes < m.enough {
		raw.Own()
	}
	if n := len(m.queue); n > 0 && joins(m.queue[n-1], raw) {
		m.queue[n-1].Join(raw)
	} else {
		m.queue = append(m.queue, raw)
	}
	if m.ready() {
		m.signal()
	}
}

// joins says whether two batches may be one: both are of one leader, whose
// place in the log is looked at with every batch.
func joins(last, next *stages.Raw) bool {
	n := len(last.Records)
	return n > 0 && len(next.Records) > 0 && last.Bytes < littleBytes && last.Bytes+next.Bytes <= batchBytes &&
		last.Records[n-1].LeaderEpoch == next.Records[0].LeaderEpoch
}

// ready says whether there is what a source does not wait for.
func (m *Mailbox) ready() bool {
	return len(m.queue) > 1 || len(m.queue) > 0 && (m.queue[0].Bytes >= m.enough || m.queue[0].Request != nil)
}

func (m *Mailbox) signal() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Ask wants bytes of the flow's buffers flushed and returns how many will be,
// this time or by a request before that is still under way: a flow that does
// not get to it must not be asked again and again, for it would obey all of
// them later, in tiny files.
func (m *Mailbox) Ask(bytes int64) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return 0
	}
	if m.free == 0 {
		m.free = bytes
		m.signal()
	}
	return m.free
}

// freed ends a request once the stages have obeyed it.
func (m *Mailbox) freed() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free, m.asked = 0, false
}

func (m *Mailbox) isClosed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed
}

// take returns a request to flush, else the oldest batch if it has enough
// bytes or others wait behind it; nil: there is none, and wake will tell.
func (m *Mailbox) take(enough int64) *stages.Raw {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.enough = enough
	if m.free > 0 && !m.asked {
		m.asked = true
		return &stages.Raw{Free: m.free}
	}
	if !m.ready() {
		return nil
	}
	raw := m.queue[0]
	m.queue[0] = nil
	m.queue = m.queue[1:]
	return raw
}

func (m *Mailbox) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed, m.queue = true, nil
}
