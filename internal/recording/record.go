// Package recording reads and writes recordings of Kafka topics and moves them
// between a file and a broker. A recording is JSON lines, one Kafka record a
// line, in offset order within a partition:
//
//	{"topic","partition","offset","timestamp","key","value","headers":[[name, value], ...]}
//
// The timestamp is in milliseconds; key, value and header values are base64 or
// null, and null is kept apart from empty. A file whose name ends in .gz or
// .zst is compressed that way.
package recording

import (
	"encoding/json"
	"flowgraph/checkpoints"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Record is one line of a recording. A nil Key or Value is Kafka's null.
type Record struct {
	Topic     string   `json:"topic"`
	Partition int32    `json:"partition"`
	Offset    int64    `json:"offset"`
	Timestamp int64    `json:"timestamp"` // milliseconds since 1970, as the record was stamped
	Key       []byte   `json:"key"`
	Value     []byte   `json:"value"`
	Headers   []Header `json:"headers"`
}

// Size is the bytes that key, value and headers hold.
func (r *Record) Size() int {
	n := len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		n += len(h.Name) + len(h.Value)
	}
	return n
}

// Kafka is the record as it is produced; its offset is the broker's to choose.
func (r *Record) Kafka() *kgo.Record {
	k := &kgo.Record{
		Topic: r.Topic, Partition: r.Partition, Key: r.Key, Value: r.Value, Timestamp: time.UnixMilli(r.Timestamp),
	}
	for _, h := range r.Headers {
		k.Headers = append(k.Headers, kgo.RecordHeader{Key: h.Name, Value: h.Value})
	}
	return k
}

// recorded is what is kept of a record that was read.
func recorded(r *kgo.Record) Record {
	out := Record{
		Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli(), Key: r.Key, Value: r.Value,
	}
	for _, h := range r.Headers {
		out.Headers = append(out.Headers, Header{Name: h.Key, Value: h.Value})
	}
	return out
}

// vchannel names the record's partition.
func (r *Record) vchannel() string {
	return checkpoints.VChannel{Topic: r.Topic, Partition: r.Partition}.Name()
}

// Header is one Kafka header: a pair, because names may repeat.
type Header struct {
	Name  string
	Value []byte
}

// MarshalJSON writes [name, base64 value or null].
func (h Header) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{h.Name, h.Value})
}

// UnmarshalJSON reads [name, base64 value or null].
func (h *Header) UnmarshalJSON(b []byte) error {
	var pair []json.RawMessage
	if err := json.Unmarshal(b, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return fmt.Errorf("a header is a pair of name and value, not %d values", len(pair))
	}
	if err := json.Unmarshal(pair[0], &h.Name); err != nil {
		return err
	}
	return json.Unmarshal(pair[1], &h.Value)
}
