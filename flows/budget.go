package flows

import "sync/atomic"

// Budget is the worker's one memory budget in bytes. It covers what was
// fetched and not yet handled, what is buffered, and what is being encoded
// and uploaded.
type Budget struct {
	limit int64
	used  atomic.Int64
}

// NewBudget returns a budget of so many bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Limit and Used are in bytes.
func (b *Budget) Limit() int64 { return b.limit }

// Used is what all flows hold at the moment.
func (b *Budget) Used() int64 { return b.used.Load() }

// Over says by how much the budget is exceeded; negative: what is left.
func (b *Budget) Over() int64 { return b.used.Load() - b.limit }

// Account is what one flow holds of the budget. Its parts are changed by
// different goroutines of the flow.
type Account struct {
	budget                      *Budget
	fetched, buffered, flushing atomic.Int64
	open                        atomic.Int64 // of transactions that only reading on can end
	unstored                    unstored
}

func (a *Account) add(part *atomic.Int64, bytes int64) {
	part.Add(bytes)
	a.budget.used.Add(bytes)
}

// set changes a part to an absolute value.
func (a *Account) set(part *atomic.Int64, bytes int64) {
	a.budget.used.Add(bytes - part.Swap(bytes))
}

// close gives everything back when the flow is gone.
func (a *Account) close() {
	a.set(&a.fetched, 0)
	a.set(&a.buffered, 0)
	a.set(&a.flushing, 0)
	a.set(&a.open, 0)
}
