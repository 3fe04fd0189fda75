package wire

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Insert is an InsertRequest whose columns are views into the record.
type Insert struct {
	Base           Base
	Shard          []byte
	CollectionName []byte
	PartitionName  []byte
	Collection     int64
	Partition      int64
	Segment        int64  // 0: none assigned
	Rows           uint64 // as the message says; not checked against its columns here
	RowBased       bool   // rows as blobs, of very old clients
	Timestamps     []byte // packed varints, hybrid
	RowIDs         []byte // packed varints
	Fields         []Field
	MinTS, MaxTS   uint64 // of Timestamps; 0 if there is none
	Stamped        bool   // every row's timestamp is MaxTS, not what Timestamps says
}

// Stamp gives all rows one timestamp: in a WAL those of the body are
// placeholders.
func (m *Insert) Stamp(ts uint64) { m.Stamped, m.MinTS, m.MaxTS = true, ts, ts }

// Parse walks an InsertRequest. The fields are appended to arena, of which
// m.Fields becomes a part; the grown arena is returned.
func (m *Insert) Parse(value []byte, arena []Field) ([]Field, error) {
	var timestamps, rowIDs packed
	from := len(arena)
	for b := value; len(b) > 0; {
		num, v, n, err := next(b)
		if err != nil {
			return arena, err
		}
		b = b[n:]
		switch num {
		case 1:
			err = m.Base.merge(v)
		case 2:
			v.text(&m.Shard)
		case 4:
			v.text(&m.CollectionName)
		case 5:
			v.text(&m.PartitionName)
		case 7:
			v.int64(&m.Collection)
		case 8:
			v.int64(&m.Partition)
		case 9:
			v.int64(&m.Segment)
		case 10:
			timestamps.add(v, protowire.VarintType)
		case 11:
			rowIDs.add(v, protowire.VarintType)
		case 12:
			m.RowBased = m.RowBased || v.typ == protowire.BytesType
		case 13:
			arena, err = appendField(arena, from, v)
		case 14:
			v.uint64(&m.Rows)
		}
		if err != nil {
			return arena, err
		}
	}
	m.Timestamps, m.RowIDs = timestamps.data, rowIDs.data
	m.Fields = arena[from:len(arena):len(arena)]
	var err error
	m.MinTS, m.MaxTS, err = bounds(m.Timestamps)
	return arena, err
}

// maxColumns bounds what a record can make us allocate: a column takes many
// times the two bytes that an empty one has on the wire.
const maxColumns = 4096

// appendField reads one column of the message whose columns begin at from.
func appendField(arena []Field, from int, v field) ([]Field, error) {
	if v.typ != protowire.BytesType {
		return arena, nil
	}
	if len(arena)-from == maxColumns {
		return arena, fmt.Errorf("%w: more than %d columns", ErrMalformed, maxColumns)
	}
	arena = append(arena, Field{})
	return arena, arena[len(arena)-1].parse(v.bytes)
}

// bounds returns the smallest and the greatest of packed varints.
func bounds(packed []byte) (lo, hi uint64, err error) {
	for first := true; len(packed) > 0; first = false {
		v, n := protowire.ConsumeVarint(packed)
		if n < 0 {
			return 0, 0, fmt.Errorf("%w: timestamps: %w", ErrMalformed, protowire.ParseError(n))
		}
		packed = packed[n:]
		if first || v < lo {
			lo = v
		}
		hi = max(hi, v)
	}
	return lo, hi, nil
}
