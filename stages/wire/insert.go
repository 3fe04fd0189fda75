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
	MinTS, MaxTS   uint64 // of Timestamps; 0 if there is none
	value          []byte
	Stamped        bool // every row's timestamp is MaxTS, not what Timestamps says
}

// Stamp gives all rows one timestamp: in a WAL those of the body are
// placeholders.
func (m *Insert) Stamp(ts uint64) { m.Stamped, m.MinTS, m.MaxTS = true, ts, ts }

// Parse walks an InsertRequest. Its columns are left for Columns: most that
// can be asked of a message does not need them, and a row that is persisted
// already is dropped unread.
func (m *Insert) Parse(value []byte) error {
	m.value = value
	var timestamps, rowIDs packed
	for b := value; len(b) > 0; {
		num, v, n, err := next(b)
		if err != nil {
			return err
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
		case 14:
			v.uint64(&m.Rows)
		}
		if err != nil {
			return err
		}
	}
	m.Timestamps, m.RowIDs = timestamps.data, rowIDs.data
	var err error
	m.MinTS, m.MaxTS, err = bounds(m.Timestamps)
	return err
}

// Columns appends the message's columns to those given, which may be the
// last message's cut to no length.
func (m *Insert) Columns(columns []Field) ([]Field, error) {
	from := len(columns)
	for b := m.value; len(b) > 0; {
		num, v, n, err := next(b)
		if err != nil {
			return columns, err
		}
		b = b[n:]
		if num != 13 {
			continue
		}
		if columns, err = appendField(columns, from, v); err != nil {
			return columns, err
		}
	}
	return columns, nil
}

// maxColumns bounds what a record can make us allocate: a column takes many
// times the two bytes that an empty one has on the wire.
const maxColumns = 4096

// appendField reads one column of the message whose columns begin at from.
func appendField(columns []Field, from int, v field) ([]Field, error) {
	if v.typ != protowire.BytesType {
		return columns, nil
	}
	if len(columns)-from == maxColumns {
		return columns, fmt.Errorf("%w: more than %d columns", ErrMalformed, maxColumns)
	}
	columns = append(columns, Field{})
	return columns, columns[len(columns)-1].parse(v.bytes)
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
