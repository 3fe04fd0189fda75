package flows

import (
	"sync"

	"flowgraph/stages"
)

// unstored knows the rows that were read and whose files are not stored yet:
// since when the buffer and each cut under way hold their oldest.
type unstored struct {
	mu       sync.Mutex
	buffered int64            // Unix ms; 0: nothing is
	cuts     map[uint64]int64 // by sequence, Unix ms
}

// placed notes what a step of the buffer has led to.
func (u *unstored) placed(b *stages.Buffer, cuts []*stages.Cut) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.buffered = b.Oldest()
	for _, c := range cuts {
		if c.Since != 0 {
			if u.cuts == nil {
				u.cuts = map[uint64]int64{}
			}
			u.cuts[c.Seq] = c.Since
		}
	}
}

// done forgets a cut, stored or given up with its flow.
func (u *unstored) done(seq uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.cuts, seq)
}

// oldest is when the oldest of them was read, Unix ms; 0: there is none.
func (u *unstored) oldest() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	oldest := u.buffered
	for _, since := range u.cuts {
		if oldest == 0 || since < oldest {
			oldest = since
		}
	}
	return oldest
}
