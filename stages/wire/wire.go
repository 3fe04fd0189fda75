// Package wire walks Milvus messages on the protobuf wire and leaves columns
// as views into the record: no message objects, no allocation per value.
package wire

// Header is one Kafka record header.
type Header struct {
	Key   string
	Value []byte
}

// Insert is an InsertRequest whose columns are views into the record.
type Insert struct{}

// Delete is a DeleteRequest whose keys are views into the record.
type Delete struct{}
