package wire

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"flowgraph/stages/varint"
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
	columns        []byte // the part of the message that has all columns
	Stamped        bool   // every row's timestamp is MaxTS, not what Timestamps says
}

// Stamp gives all rows one timestamp: in a WAL those of the body are
// placeholders.
func (m *Insert) Stamp(ts uint64) { m.Stamped, m.MinTS, m.MaxTS = true, ts, ts }

// Tags of the fields that every insert has.
const (
	tagShard          = 2<<3 | piece
	tagCollectionName = 4<<3 | piece
	tagPartitionName  = 5<<3 | piece
	tagCollection     = 7<<3 | number
	tagPartition      = 8<<3 | number
	tagSegment        = 9<<3 | number
	tagTimestamps     = 10<<3 | piece
	tagRowIDs         = 11<<3 | piece
	tagColumn         = 13<<3 | piece
	tagRows           = 14<<3 | number
)

// Parse walks an InsertRequest. Its columns are left for Columns: most that
// can be asked of a message does not need them, and a row that is persisted
// already is dropped unread.
func (m *Insert) Parse(value []byte) error { return m.ParseRest(Open(value)) }

// ParseRest is Parse behind what Open has read.
func (m *Insert) ParseRest(base Base, rest []byte) error {
	m.Base = base
	w := insertWalk{Insert: m, first: -1}
	for at := 0; at < len(rest); {
		b := rest[at:]
		x, n := head(b)
		if n == 0 {
			var err error
			if n, err = w.other(at, b); err != nil {
				return err
			}
			at += n
			continue
		}
		end := n
		if b[0]&7 == piece {
			end += int(x)
		}
		switch b[0] {
		case tagShard:
			m.Shard = b[n:end]
		case tagCollectionName:
			m.CollectionName = b[n:end]
		case tagPartitionName:
			m.PartitionName = b[n:end]
		case tagCollection:
			m.Collection = int64(x)
		case tagPartition:
			m.Partition = int64(x)
		case tagSegment:
			m.Segment = int64(x)
		case tagTimestamps:
			w.timestamps.addPiece(b[n:end])
		case tagRowIDs:
			w.rowIDs.addPiece(b[n:end])
		case tagColumn:
			w.column(at, end)
		case tagRows:
			m.Rows = x
		default:
			if _, err := w.other(at, b); err != nil {
				return err
			}
		}
		at += end
	}
	return w.end(rest)
}

// insertWalk is an insert while it is walked.
type insertWalk struct {
	*Insert
	timestamps, rowIDs packed
	first, last        int // where the first column begins and the last one ends
}

// other takes a field in any spelling and says how many bytes it had.
func (w *insertWalk) other(at int, b []byte) (int, error) {
	num, v, n, err := next(b)
	if err != nil {
		return 0, err
	}
	switch num {
	case 1:
		err = w.Base.merge(v)
	case 2:
		v.text(&w.Shard)
	case 4:
		v.text(&w.CollectionName)
	case 5:
		v.text(&w.PartitionName)
	case 7:
		v.int64(&w.Collection)
	case 8:
		v.int64(&w.Partition)
	case 9:
		v.int64(&w.Segment)
	case 10:
		w.timestamps.add(v, protowire.VarintType)
	case 11:
		w.rowIDs.add(v, protowire.VarintType)
	case 12:
		w.RowBased = w.RowBased || v.typ == protowire.BytesType
	case 13:
		w.column(at, n)
	case 14:
		v.uint64(&w.Rows)
	}
	return n, err
}

func (w *insertWalk) column(at, size int) {
	if w.first < 0 {
		w.first = at
	}
	w.last = at + size
}

func (w *insertWalk) end(rest []byte) (err error) {
	if w.first >= 0 {
		w.columns = rest[w.first:w.last]
	}
	w.Timestamps, w.RowIDs = w.timestamps.data, w.rowIDs.data
	w.MinTS, w.MaxTS, err = bounds(w.Timestamps)
	return err
}

// Columns appends the message's columns to those given, which may be the
// last message's cut to no length: what is like theirs is not walked again.
func (m *Insert) Columns(columns []Field) ([]Field, error) {
	from := len(columns)
	for b := m.columns; len(b) > 0; {
		if x, n := head(b); n > 0 && b[0] == tagColumn {
			var err error
			if columns, err = appendField(columns, from, b[n:n+int(x)]); err != nil {
				return columns, err
			}
			b = b[n+int(x):]
			continue
		}
		num, v, n, err := next(b)
		if err != nil {
			return columns, err
		}
		b = b[n:]
		if num != 13 || v.typ != protowire.BytesType {
			continue
		}
		if columns, err = appendField(columns, from, v.bytes); err != nil {
			return columns, err
		}
	}
	return columns, nil
}

// maxColumns bounds what a record can make us allocate: a column takes many
// times the two bytes that an empty one has on the wire.
const maxColumns = 4096

// appendField reads one column of the message whose columns begin at from.
func appendField(columns []Field, from int, b []byte) ([]Field, error) {
	if len(columns)-from == maxColumns {
		return columns, fmt.Errorf("%w: more than %d columns", ErrMalformed, maxColumns)
	}
	columns = slices.Grow(columns, 1)[:len(columns)+1]
	return columns, columns[len(columns)-1].parse(b)
}

// bounds returns the smallest and the greatest of packed varints.
func bounds(packed []byte) (lo, hi uint64, err error) {
	for first := true; len(packed) > 0; first = false {
		v, n := varint.Read(packed)
		if n <= 0 {
			return 0, 0, fmt.Errorf("%w: timestamps: a number is cut short or has more than 64 bits", ErrMalformed)
		}
		packed = packed[n:]
		if first || v < lo {
			lo = v
		}
		hi = max(hi, v)
	}
	return lo, hi, nil
}
