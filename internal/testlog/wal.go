package testlog

import (
	"encoding/base64"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"flowgraph/internal/recording"
)

// WALHeaders are those of a record of the streaming WAL (Milvus 2.6): version
// and kind of its message, its time tick, and the message's own header.
func WALHeaders(version string, kind int, tick uint64, header []byte) []recording.Header {
	return []recording.Header{
		{Name: "_v", Value: []byte(version)}, {Name: "_t", Value: []byte(strconv.Itoa(kind))},
		{Name: "_tt", Value: []byte(strconv.FormatUint(tick, 36))}, {Name: "_h", Value: base64.StdEncoding.AppendEncode(nil, header)},
	}
}

// InTransaction is one header more of a record inside a transaction, which
// expires after so many milliseconds; never where they are negative.
func InTransaction(id, keepalive int64) recording.Header {
	return recording.Header{Name: "_tx", Value: base64.StdEncoding.AppendEncode(nil, Numbers(id, keepalive))}
}

// Numbers is a protobuf message of numeric fields 1, 2, ...
func Numbers(values ...int64) []byte {
	var b []byte
	for i, v := range values {
		b = protowire.AppendVarint(protowire.AppendTag(b, protowire.Number(i+1), protowire.VarintType), uint64(v))
	}
	return b
}

// Nested appends a field to a message, that is a message itself.
func Nested(b []byte, field protowire.Number, body []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), body)
}
