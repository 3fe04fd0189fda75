// Package stages holds the pure steps of a flow and the values that walk
// through them: *Raw -> *Pack -> *Cut. A stage is a method
// Step(ctx, in) ([]out, error) without channels, goroutines, clocks or
// loggers; ownership of a value passes with its pointer.
package stages

import (
	"bytes"

	"flowgraph/checkpoints"
	"flowgraph/stages/column"
	"flowgraph/stages/wire"
)

// Record is one Kafka record as the source hands it on. Value and Headers
// are views into the fetched batch and live until the segment buffer has
// copied what it needs.
type Record struct {
	Offset      int64
	LeaderEpoch int32
	Time        int64 // Kafka timestamp, Unix ms
	Control     bool  // a transaction marker: it only moves the position
	Key, Value  []byte
	Headers     []wire.Header
}

// Signal is what a batch tells the segment buffer besides its records.
type Signal int

const (
	Data  Signal = iota
	Idle         // a poll brought nothing: time passes, positions stay
	Drain        // the last element of a graceful stop: flush everything
)

// Raw is one poll's records of one vchannel, in offset order.
type Raw struct {
	Signal  Signal
	Records []Record
	Bytes   int64 // of the records, for the memory budget
	Now     int64 // wall time, Unix ms
	Free    int64 // bytes the buffer is asked to flush because memory is short
	Request *Request
	slab    *slab // where Records stand; nil if not made by Slabs
}

// Pack is a batch of consecutive messages with one start and one end, or one
// event. A record, and a transaction, is never split over two packs.
type Pack struct {
	Signal     Signal
	Start, End checkpoints.Position
	// Hold is where reading must begin for this pack to be decoded the same
	// way; HoldAfter is the same for a pack that begins at End.
	Hold, HoldAfter checkpoints.Position
	Messages        []Message
	Event           *Event // set: Messages is empty
	LogTime         int64  // Kafka timestamp of the newest record handled, Unix ms
	Turn            int    // how often the filter has forgotten segments so far
	Open            int64  // bytes of open transactions' members, still held by the decoder
	Bytes           int64
	Now             int64
	Free            int64
	Request         *Request
	Counts          Counts
	slab            *slab // where Messages stand; of the parts of a pack only the last one's
}

// Counts is what happened to the records of a pack on its way.
type Counts struct {
	Records   int64
	Rows      int64 // placed in segments
	Deletes   int64 // the same, of deletes
	Repeated  int64 // messages that a producer sent again
	BelowTick int64 // WAL records below the last tick, which Milvus leaves out too
	Orphans   int64 // members and commits of transactions whose beginning was not read
	Expired   int64 // transactions that a tick has outlived
	Ignored   Ignored
	Filtered  int64 // rows and deletes that are persisted already
	AfterDrop int64 // rows and deletes at or after a drop of their place
	Rerouted  int64 // rows for a Flushed segment, placed in an auto segment
	Bad       int64 // records on their way to quarantine
}

// Route is where the position filter sends a message's rows.
type Route int

const (
	Assigned Route = iota // to the segment that the message names
	Auto                  // to the partition's auto segment
	Rerouted              // the same, because the named segment is Flushed
)

// Message is one insert or delete of a pack, or a record that could not be
// read. Rows of a message share one segment.
type Message struct {
	Identity checkpoints.Position // of its rows: its own record, or its transaction's commit
	Record   *Record              // of the batch that it came with
	Insert   *wire.Insert         // one of Insert, Delete, Bad, Event is set
	Delete   *wire.Delete
	Bad      string // why the record is a bad one
	Event    *Event // only until the splitter has made it a pack of its own
	Route    Route
}

func (m *Message) empty() bool {
	return m.Insert == nil && m.Delete == nil && m.Bad == "" && m.Event == nil
}

// Event is a DDL or seal event in log order.
type Event struct {
	checkpoints.Event
	Seal     *Seal
	Position checkpoints.Position // of its record
	End      checkpoints.Position // after it
	Start    checkpoints.Position // Hold of a pack that begins at Position
	After    checkpoints.Position // Hold of a pack that begins at End
	LogTime  int64
}

// Seal asks that open segments get no further row.
type Seal struct {
	Collection int64   // 0: all collections
	Segments   []int64 // none: every open assigned segment of the collection
}

// BadRecord is a record on its way to quarantine.
type BadRecord struct {
	Record Record // owns its bytes
	Kind   BadKind
	Reason string
}

// Cut is what the segment buffer takes at a pack's end: rows of one segment,
// a seal, an event, quarantined records, or only the movement of the position.
type Cut struct {
	Seq     uint64 // 1, 2, 3, ... in cut order
	Change  checkpoints.Change
	LogID   string           // of its files; "" without rows
	Columns []*column.Column // rows: RowID, Timestamp, then fields ascending. Deletes: key, timestamp
	Reason  Reason           // "" without a segment
	Bad     []BadRecord
	First   checkpoints.Position // smallest identity of the rows; zero without rows
	Since   int64                // when the oldest of them was buffered, Unix ms; 0 without rows
	Bytes   int64                // memory held by Columns and Bad
	Counts  Counts               // of the packs since the cut before
}

// Reason says why a segment was cut; it is the metric's label.
type Reason string

const (
	BufferFull  Reason = "buffer_full"
	BufferStale Reason = "buffer_stale"
	Sealed      Reason = "sealed"
	DroppedDDL  Reason = "dropped"
	Memory      Reason = "memory"
	Drained     Reason = "drain"
	Requested   Reason = "request"
)

// Reasons are all of them.
var Reasons = []Reason{BufferFull, BufferStale, Sealed, DroppedDDL, Memory, Drained, Requested}

func (c *Counts) add(o Counts) {
	c.Records += o.Records
	c.Rows += o.Rows
	c.Deletes += o.Deletes
	c.Repeated += o.Repeated
	c.Ignored.add(o.Ignored)
	c.BelowTick += o.BelowTick
	c.Orphans += o.Orphans
	c.Expired += o.Expired
	c.Filtered += o.Filtered
	c.AfterDrop += o.AfterDrop
	c.Rerouted += o.Rerouted
	c.Bad += o.Bad
}

// clone copies a record out of the fetched batch.
func (r Record) clone() Record {
	r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
	headers := make([]wire.Header, len(r.Headers))
	for i, h := range r.Headers {
		headers[i] = wire.Header{Key: h.Key, Value: bytes.Clone(h.Value)}
	}
	r.Headers = headers
	return r
}
