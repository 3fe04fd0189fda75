package binlog

import (
	"encoding/binary"
	"math"

	"flowgraph/stages/column"
)

// Sizes of the format's fixed parts, in bytes.
const (
	magic          = 0x00FFFABC
	magicSize      = 4
	eventHeader    = 17 // timestamp, type, length, next position
	descriptorData = 52 // IDs, timestamps, payload type
	postHeaders    = 8
	dataFixed      = 16 // start and end timestamp
	maxPayload     = math.MaxInt32
)

// postHeaderLengths are the sizes of the events' fixed parts by event type,
// as every release writes them.
var postHeaderLengths = [postHeaders]byte{0x34, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10}

// head is everything before the payload.
type head struct {
	meta  Meta
	field int64
	kind  column.Type
	event EventType
	size  int // once encoded
}

// encode leaves the data event's length and next position open: they are
// known when the payload is written. Milvus puts the time of writing into
// the event headers; here it is the newest row's, so that a file depends on
// its rows alone.
func (h *head) encode(extras []byte) []byte {
	length := eventHeader + descriptorData + postHeaders + 4 + len(extras)
	le := binary.LittleEndian
	b := make([]byte, 0, magicSize+length+eventHeader+dataFixed)
	b = le.AppendUint32(b, magic)
	b = appendEvent(b, h.meta.MaxTS, DescriptorEvent, length, magicSize+length)
	b = le.AppendUint64(b, uint64(h.meta.Collection))
	b = le.AppendUint64(b, uint64(h.meta.Partition))
	b = le.AppendUint64(b, uint64(h.meta.Segment))
	b = le.AppendUint64(b, uint64(h.field))
	b = le.AppendUint64(b, h.meta.MinTS)
	b = le.AppendUint64(b, h.meta.MaxTS)
	b = le.AppendUint32(b, uint32(h.kind))
	b = append(b, postHeaderLengths[:]...)
	b = le.AppendUint32(b, uint32(len(extras)))
	b = append(b, extras...)
	b = appendEvent(b, h.meta.MaxTS, h.event, 0, 0)
	b = le.AppendUint64(b, h.meta.MinTS)
	b = le.AppendUint64(b, h.meta.MaxTS)
	h.size = len(b)
	return b
}

func appendEvent(b []byte, ts uint64, t EventType, length, next int) []byte {
	b = binary.LittleEndian.AppendUint64(b, ts)
	b = append(b, byte(t))
	b = binary.LittleEndian.AppendUint32(b, uint32(length))
	return binary.LittleEndian.AppendUint32(b, uint32(next))
}

// patch fills in the data event's length and end in a file of size bytes;
// first holds the head.
func (h *head) patch(first []byte, size int64) {
	start := h.size - dataFixed - eventHeader
	binary.LittleEndian.PutUint32(first[start+9:], uint32(size-int64(start)))
	binary.LittleEndian.PutUint32(first[start+13:], uint32(size))
}
