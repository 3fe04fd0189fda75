// Package binlog writes and reads Milvus binlogs of format V1: one file holds
// one field of one flush of one segment, as a descriptor event and exactly
// one data event whose payload is a complete Parquet file.
//
//	magic | descriptor event | data event header | start, end timestamp | parquet
//
// Milvus' own readers must read what this package writes, and it reads what
// any Milvus wrote.
package binlog

import (
	"errors"

	"flowgraph/stages/column"
)

// Errors to be tested with errors.Is.
var (
	// ErrCorrupt: the bytes are not a binlog, or not all of one.
	ErrCorrupt = errors.New("corrupt binlog")
	// ErrUnsupported: a binlog, but of a kind that cannot be read here
	// (encrypted, nested lists), or a column that cannot be written.
	ErrUnsupported = errors.New("unsupported binlog")
	// ErrTooLarge: the file would not stay below 2 GiB, the format's limit.
	ErrTooLarge = errors.New("binlog of 2 GiB or more")
)

// Meta says whose rows a file holds.
type Meta struct {
	Collection, Partition, Segment int64
	MinTS, MaxTS                   uint64 // smallest and largest row timestamp
}

// Extras is the JSON object behind the descriptor.
type Extras struct {
	Nullable     bool   `json:"nullable"`
	OriginalSize int64  `json:"original_size,string"` // bytes in memory; -1 if the file does not say
	Version      string `json:"version,omitempty"`
}

// EventType is the number in an event's header.
type EventType int8

const (
	DescriptorEvent EventType = 0
	InsertEvent     EventType = 1
	DeleteEvent     EventType = 2
)

// Event is an event's header. Milvus fills it differently in each release and
// reads only the length.
type Event struct {
	Timestamp uint64
	Type      EventType
	Length    int32 // of the event, header included
	Next      int32 // offset of the next event; -1 from some writers
	// MinTS and MaxTS are the data event's; the descriptor's are in Descriptor.
	MinTS, MaxTS uint64
}

// Descriptor is the descriptor event.
type Descriptor struct {
	Event
	Collection, Partition, Segment int64
	Field                          int64 // -1 in delta logs
	Type                           column.Type
	PostHeaders                    [8]byte
	Extras                         Extras
	RawExtras                      []byte // as stored
}

// Log is a binlog that was read. Rows is set for an insert log, Deltas for a
// delta log; neither if only the headers were read.
type Log struct {
	Descriptor Descriptor
	Data       Event
	Payload    []byte // the Parquet file, a view
	Parquet    Parquet
	Rows       *column.Column
	Deltas     *Deltas
}

// Parquet is what a dump shows of a payload.
type Parquet struct {
	CreatedBy string
	Column    string // name of the first column
	Codec     string
	Encodings []string
	RowGroups int
	Rows      int64
	Optional  bool
}

// Deltas are deleted keys (Int64 or VarChar) with the timestamps of their
// deletes: two columns of equal length, in the order of the file.
type Deltas struct {
	Keys, Timestamps *column.Column
}
