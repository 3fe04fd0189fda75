package stages

import "flowgraph/checkpoints"

// windowSize bounds how many messages are remembered, so that a log without
// ticks does not hold read_from back for ever.
const windowSize = 1024

// window remembers the message IDs that a producer may still repeat: a
// message is remembered until a tick at or above its row timestamp. Since
// its first message holds read_from back, a restart reads it again and knows
// the same repeats.
type window struct {
	queue []remembered // in offset order
	known map[messageID]struct{}
	shard map[string]int32 // shard names, interned
}

type messageID struct {
	id    int64
	shard int32
	kind  int32 // message type
}

type remembered struct {
	messageID
	at checkpoints.Position
	ts uint64
}

func newWindow() *window {
	return &window{known: map[messageID]struct{}{}, shard: map[string]int32{}}
}

// repeated says whether the message is a repeat, and remembers it if not.
// Message ID 0 means that the producer gave none.
func (w *window) repeated(id int64, shard []byte, kind int32, at checkpoints.Position, ts uint64) bool {
	if id == 0 {
		return false
	}
	n, ok := w.shard[string(shard)]
	if !ok {
		n = int32(len(w.shard))
		w.shard[string(shard)] = n
	}
	m := messageID{id, n, kind}
	if _, ok := w.known[m]; ok {
		return true
	}
	if len(w.queue) == windowSize {
		delete(w.known, w.queue[0].messageID)
		w.queue = append(w.queue[:0], w.queue[1:]...)
	}
	w.known[m] = struct{}{}
	w.queue = append(w.queue, remembered{m, at, ts})
	return false
}

// tick forgets what a tick has released.
func (w *window) tick(ts uint64) {
	kept := w.queue[:0]
	for _, m := range w.queue {
		if m.ts > ts {
			kept = append(kept, m)
		} else {
			delete(w.known, m.messageID)
		}
	}
	w.queue = kept
}

// first is the position of the oldest message remembered.
func (w *window) first() (checkpoints.Position, bool) {
	if len(w.queue) == 0 {
		return checkpoints.Position{}, false
	}
	return w.queue[0].at, true
}
