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

	mu     sync.Mutex
	queue  []*stages.Raw
	closed bool
}

func newMailbox(a *Account) *Mailbox {
	return &Mailbox{account: a, wake: make(chan struct{}, 1)}
}

// put leaves a batch; after close it is dropped, to be read again by whoever
// comes next.
func (m *Mailbox) put(raw *stages.Raw) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	m.account.add(&m.account.fetched, raw.Bytes)
	m.queue = append(m.queue, raw)
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// take returns the oldest batch, nil if there is none.
func (m *Mailbox) take() *stages.Raw {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.queue) == 0 {
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
