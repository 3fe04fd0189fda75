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
	"fmt"
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

// vchannel names the record's partition the way messages to people do.
func (r *Record) vchannel() string { return fmt.Sprintf("%s-%d", r.Topic, r.Partition) }

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
