package archive

import (
	"slices"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
)

// remembered is how many messages are remembered at most.
const remembered = 1024

// repeats knows the messages that a producer may send again: a message is
// remembered until a tick at or above its row timestamp, at most over the last
// messages.
type repeats struct {
	known    map[sent]int // how often each is in order
	order    []sentAt
	messages int    // that had an ID
	lowest   uint64 // tick; 0: none yet
	highest  uint64
}

type sent struct {
	id    int64
	shard string
	kind  commonpb.MsgType
}

type sentAt struct {
	sent
	ts uint64
}

func newRepeats() repeats { return repeats{known: map[sent]int{}} }

// again says whether this message was sent before; without an ID none was. A
// repeat is remembered as its first copy was.
func (r *repeats) again(id int64, shard string, kind commonpb.MsgType, timestamps []uint64) bool {
	if id == 0 {
		return false
	}
	m := sent{id, shard, kind}
	again := r.known[m] > 0
	r.messages++
	if len(r.order) == remembered {
		r.forget(r.order[0].sent)
		r.order = slices.Delete(r.order, 0, 1)
	}
	var ts uint64
	if len(timestamps) > 0 {
		ts = slices.Max(timestamps)
	}
	r.known[m]++
	r.order = append(r.order, sentAt{m, ts})
	return again
}

func (r *repeats) forget(m sent) {
	if r.known[m]--; r.known[m] == 0 {
		delete(r.known, m)
	}
}

func (r *repeats) tick(ts uint64) {
	if r.lowest == 0 {
		r.lowest = ts
	}
	r.highest = max(r.highest, ts)
	r.order = slices.DeleteFunc(r.order, func(m sentAt) bool {
		if m.ts <= ts {
			r.forget(m.sent)
		}
		return m.ts <= ts
	})
}
