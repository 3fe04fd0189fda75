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
	// ring holds the messages remembered, oldest to next, each at its number
	// modulo the ring's length, which is a power of two.
	ring         []remembered
	oldest, next uint64 // numbers
	// heads has for each hash of a message ID the number of the newest message
	// with it. Numbers below oldest are of messages that are forgotten, so
	// nothing is ever taken out of a chain.
	heads  []uint64
	newest uint64           // greatest row timestamp of all that is remembered
	shards map[string]int32 // numbers of the shards
	names  []string         // of the shards, by number
	shard  int32            // the last message's
}

type messageID struct {
	id    int64
	shard int32
	kind  int32 // message type
}

type remembered struct {
	messageID
	at     checkpoints.Position
	ts     uint64
	before uint64 // the number of the next older message of the same hash
}

// firstNumber leaves 0 to chains that have no message.
const firstNumber = 1

func newWindow() *window {
	return &window{oldest: firstNumber, next: firstNumber, shards: map[string]int32{}}
}

// repeated says whether the message is a repeat, and remembers it. Message ID
// 0 means that the producer gave none.
func (w *window) repeated(id int64, shard []byte, kind int32, at checkpoints.Position, ts uint64) bool {
	if id == 0 {
		return false
	}
	m := messageID{id, w.shardNumber(shard), kind}
	again := w.knows(m)
	if w.next-w.oldest == windowSize {
		w.oldest++
	}
	w.remember(remembered{messageID: m, at: at, ts: ts})
	return again
}

// shardNumber numbers the shards in the order in which they appear.
func (w *window) shardNumber(name []byte) int32 {
	if int(w.shard) < len(w.names) && string(name) == w.names[w.shard] {
		return w.shard
	}
	n, ok := w.shards[string(name)]
	if !ok {
		n = int32(len(w.names))
		w.names = append(w.names, string(name))
		w.shards[w.names[n]] = n
	}
	w.shard = n
	return n
}

func (w *window) knows(m messageID) bool {
	if len(w.ring) == 0 {
		return false
	}
	mask := uint64(len(w.ring) - 1)
	for n := w.heads[w.hash(m.id)]; n >= w.oldest; n = w.ring[n&mask].before {
		if w.ring[n&mask].messageID == m {
			return true
		}
	}
	return false
}

// hash spreads message IDs, which rise, over the heads.
func (w *window) hash(id int64) uint64 {
	return uint64(id) * 0x9e3779b97f4a7c15 >> 40 & uint64(len(w.heads)-1)
}

func (w *window) remember(m remembered) {
	if int(w.next-w.oldest) == len(w.ring) {
		size := max(64, 2*len(w.ring))
		w.heads = make([]uint64, 2*size)
		w.rebuild(make([]remembered, size), func(remembered) bool { return true })
	}
	head := &w.heads[w.hash(m.id)]
	m.before, *head = *head, w.next
	w.ring[w.next&uint64(len(w.ring)-1)] = m
	w.newest = max(w.newest, m.ts)
	w.next++
}

// tick forgets what a tick has released.
func (w *window) tick(ts uint64) {
	if w.newest <= ts {
		w.oldest, w.newest = w.next, 0
		return
	}
	for n := w.oldest; n < w.next; n++ {
		if w.ring[n&uint64(len(w.ring)-1)].ts <= ts {
			w.rebuild(w.ring, func(m remembered) bool { return m.ts > ts })
			return
		}
	}
}

// rebuild remembers what keeps chooses, in a ring that may be the old one: no
// message gets a number above its own.
func (w *window) rebuild(ring []remembered, keeps func(remembered) bool) {
	old, to := w.ring, w.next
	w.ring, w.next, w.newest = ring, w.oldest, 0
	clear(w.heads)
	for n := w.oldest; n < to; n++ {
		if m := old[n&uint64(len(old)-1)]; keeps(m) {
			w.remember(m)
		}
	}
}

// first is the position of the oldest message remembered.
func (w *window) first() (checkpoints.Position, bool) {
	if w.oldest == w.next {
		return checkpoints.Position{}, false
	}
	return w.ring[w.oldest&uint64(len(w.ring)-1)].at, true
}
