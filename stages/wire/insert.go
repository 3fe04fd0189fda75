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
}

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
			m.Base, err = parseBase(v)
		case 2:
			m.Shard = v.bytes
		case 4:
			m.CollectionName = v.bytes
		case 5:
			m.PartitionName = v.bytes
		case 7:
			m.Collection = int64(v.num)
		case 8:
			m.Partition = int64(v.num)
		case 9:
			m.Segment = int64(v.num)
		case 10:
			err = timestamps.add(v)
		case 11:
			err = rowIDs.add(v)
		case 12:
			m.RowBased = true
		case 13:
			arena = append(arena, Field{})
			err = arena[len(arena)-1].parse(v)
		case 14:
			m.Rows = v.num
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
