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
	known    map[sent]bool
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

func newRepeats() repeats { return repeats{known: map[sent]bool{}} }

// again says whether this message was sent before; without an ID none was.
func (r *repeats) again(id int64, shard string, kind commonpb.MsgType, timestamps []uint64) bool {
	m := sent{id, shard, kind}
	if id == 0 || r.known[m] {
		return id != 0
	}
	r.messages++
	if len(r.order) == remembered {
		delete(r.known, r.order[0].sent)
		r.order = slices.Delete(r.order, 0, 1)
	}
	var ts uint64
	if len(timestamps) > 0 {
		ts = slices.Max(timestamps)
	}
	r.known[m] = true
	r.order = append(r.order, sentAt{m, ts})
	return false
}

func (r *repeats) tick(ts uint64) {
	if r.lowest == 0 {
		r.lowest = ts
	}
	r.highest = max(r.highest, ts)
	r.order = slices.DeleteFunc(r.order, func(m sentAt) bool {
		if m.ts <= ts {
			delete(r.known, m.sent)
		}
		return m.ts <= ts
	})
}
