package traffic

import (
	"fmt"
	"slices"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"

	"flowgraph/internal/recording"
)

// channel is one log with what decides about its next records.
type channel struct {
	Log
	index   int
	headers bool           // messages carry their type in a header, as from 2.4 on
	queue   []*message     // to be written, in this order
	held    []*message     // overtaken by later ones
	recent  []*message     // since the last tick: a producer may send them again
	dropped map[int64]bool // collections and partitions, by ID
	tick    uint64         // of the last tick written
}

// message is one message on its way into a log.
type message struct {
	kind       commonpb.MsgType
	value      []byte
	ts         uint64 // of its rows; what a tick at or above it makes final
	collection int64
	partition  int64
	rows       int64
	wait       int // records that overtake it
	repeat     bool
	bad        bool
}

func channelName(i int) string { return fmt.Sprintf("by-dev-rootcoord-dml_%d", i) }

// next takes the message that is due, nil if none is.
func (l *channel) next() *message {
	for i, m := range l.held {
		if m.wait--; m.wait < 0 {
			l.held = slices.Delete(l.held, i, i+1)
			return m
		}
	}
	if len(l.queue) == 0 {
		return nil
	}
	m := l.queue[0]
	l.queue = l.queue[1:]
	return m
}

// recentLimit is far below what a reader must remember.
const recentLimit = 100

// emit writes a message and counts what a reader must make of it: that
// depends on the drops before it in this log.
func (s *Stream) emit(l *channel, m *message) recording.Record {
	s.total.Records++
	s.total.Bytes += int64(len(m.value))
	switch {
	case m.bad:
		s.total.Bad++
	case m.repeat:
		s.total.Repeated++
	case m.kind == commonpb.MsgType_Insert, m.kind == commonpb.MsgType_Delete:
		s.count(l, m)
		if l.recent = append(l.recent, m); len(l.recent) > recentLimit {
			l.recent = l.recent[1:]
		}
	case m.kind == commonpb.MsgType_TimeTick:
		l.tick = m.ts
		l.recent = slices.DeleteFunc(l.recent, func(r *message) bool { return r.ts <= m.ts })
	case m.kind == commonpb.MsgType_DropPartition:
		l.dropped[m.partition] = true
	case m.kind == commonpb.MsgType_DropCollection:
		l.dropped[m.collection] = true
	}
	return recording.Record{
		Topic: l.Topic, Partition: l.Partition, Offset: -1, Timestamp: int64(s.clock>>18) + s.rng.Int64N(50),
		Value: m.value, Headers: s.headers(l, m),
	}
}

func (s *Stream) count(l *channel, m *message) {
	switch {
	case l.dropped[m.collection] || l.dropped[m.partition]:
		s.total.AfterDrop += m.rows
	case m.kind == commonpb.MsgType_Insert:
		s.total.Rows += m.rows
	default:
		s.total.Deletes += m.rows
	}
}

func (s *Stream) headers(l *channel, m *message) []recording.Header {
	var h []recording.Header
	if m.kind != commonpb.MsgType_TimeTick {
		trace := fmt.Sprintf("00-%016x%016x-%016x-00", s.rng.Uint64(), s.rng.Uint64(), s.rng.Uint64())
		h = append(h, recording.Header{Name: "traceparent", Value: []byte(trace)})
	}
	if l.headers && !m.bad {
		h = append(h, recording.Header{Name: "msg_type", Value: []byte(m.kind.String())})
	}
	return h
}

// push queues a message; now and then later ones overtake it, as concurrent
// writers do to each other.
func (s *Stream) push(l *channel, m *message, mayWait bool) {
	if mayWait && s.rng.IntN(20) == 0 {
		m.wait = 1 + s.rng.IntN(5)
		l.held = append(l.held, m)
		return
	}
	l.queue = append(l.queue, m)
}

// repeat sends a recent message again, byte for byte.
func (s *Stream) repeat(l *channel) {
	if len(l.recent) == 0 {
		return
	}
	again := *l.recent[s.rng.IntN(len(l.recent))]
	again.repeat = true
	s.push(l, &again, false)
}

// tickAt is the greatest value of a tick that no message still to come is at
// or below.
func (s *Stream) tickAt(l *channel) uint64 {
	at := s.clock
	for _, m := range l.held {
		at = min(at, m.ts-1)
	}
	return max(at, l.tick)
}
