package stages

import "flowgraph/checkpoints"

// windowSize bounds how many messages are remembered, so that a log without
// ticks does not hold read_from back for ever.
const windowSize = 1024

// window remembers the message IDs that a producer may still repeat: a
// message is remembered until a tick at or above its row timestamp, at most
// over the last windowSize messages. Since its oldest message holds read_from
// back, a restart reads that again and knows the same repeats.
//
// Repeats are remembered like first appearances. So the window at a place in
// the log depends on the messages before it alone and not on which of them
// were known as repeats, which a life that begins to read between the two
// cannot tell; below the seek position that makes no difference any more.
type window struct {
	queue []remembered // in offset order
	known map[messageID]int
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
	return &window{known: map[messageID]int{}, shard: map[string]int32{}}
}

// repeated says whether the message is a repeat, and remembers it. Message ID
// 0 means that the producer gave none.
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
	again := w.known[m] > 0
	if len(w.queue) == windowSize {
		w.forget(w.queue[0].messageID)
		w.queue = w.queue[1:]
	}
	w.known[m]++
	w.queue = append(w.queue, remembered{m, at, ts})
	return again
}

func (w *window) forget(m messageID) {
	if w.known[m]--; w.known[m] == 0 {
		delete(w.known, m)
	}
}

// tick forgets what a tick has released.
func (w *window) tick(ts uint64) {
	kept := w.queue[:0]
	for _, m := range w.queue {
		if m.ts > ts {
			kept = append(kept, m)
		} else {
			w.forget(m.messageID)
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
