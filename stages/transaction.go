package stages

import (
	"flowgraph/checkpoints"
)

// transactions holds the open transactions of a WAL. Their messages take
// effect at the commit, all in one pack, and their first records hold
// read_from back, so that a restart reads them whole again. One whose
// beginning this life has not read is persisted wholly, or rolled back.
type transactions struct {
	open  map[int64]*transaction
	bytes int64 // of the members, which stay fetched
}

type transaction struct {
	begin     checkpoints.Position
	keepalive int64  // ms; negative: never expires
	last      uint64 // tick of its last record
	members   []Message
	bytes     int64
}

func newTransactions() *transactions { return &transactions{open: map[int64]*transaction{}} }

func (t *transactions) begin(id int64, at checkpoints.Position, keepalive int64, tick uint64) {
	if _, twice := t.open[id]; twice {
		t.end(id)
	}
	t.open[id] = &transaction{begin: at, keepalive: keepalive, last: tick}
}

// add appends a member; false: its transaction is not known.
func (t *transactions) add(id int64, m Message, tick uint64) bool {
	x := t.open[id]
	if x == nil {
		return false
	}
	bytes := int64(len(m.Record.Value))
	x.members, x.last, x.bytes = append(x.members, m), tick, x.bytes+bytes
	t.bytes += bytes
	return true
}

// end forgets a transaction and returns it, nil if it is not known.
func (t *transactions) end(id int64) *transaction {
	x := t.open[id]
	if x != nil {
		delete(t.open, id)
		t.bytes -= x.bytes
	}
	return x
}

// forever is a keepalive, in ms, whose end does not fit a hybrid timestamp.
const forever = 1 << 45

// expire drops what a tick has outlived, as the log's own readers do: so none
// holds read_from back for ever. It returns how many.
func (t *transactions) expire(tick uint64) (n int64) {
	for id, x := range t.open {
		if x.keepalive >= 0 && x.keepalive < forever && x.last+uint64(x.keepalive)<<18 <= tick {
			t.end(id)
			n++
		}
	}
	return n
}

// first is the position of the oldest open transaction's first record.
func (t *transactions) first() (p checkpoints.Position, any bool) {
	for _, x := range t.open {
		if !any || x.begin.Offset < p.Offset {
			p, any = x.begin, true
		}
	}
	return p, any
}
