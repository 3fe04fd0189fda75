package wire

import "google.golang.org/protobuf/encoding/protowire"

// Delete is a DeleteRequest whose keys are views into the record.
type Delete struct {
	Base          Base
	Shard         []byte
	PartitionName []byte
	Collection    int64
	Partition     int64 // -1: all partitions
	Rows          uint64
	Timestamps    []byte // packed varints, hybrid
	IntKeys       []byte // packed varints; nil if the keys are strings
	StrKeys       Strings
	MinTS, MaxTS  uint64
	Stamped       bool // as in Insert
}

// Stamp gives all keys one timestamp.
func (m *Delete) Stamp(ts uint64) { m.Stamped, m.MinTS, m.MaxTS = true, ts, ts }

// Parse walks a DeleteRequest.
func (m *Delete) Parse(value []byte) error {
	var timestamps, old packed
	var keys arm
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
		case 5:
			v.text(&m.PartitionName)
		case 7:
			v.int64(&m.Collection)
		case 8:
			v.int64(&m.Partition)
		case 9: // where old clients put the keys
			old.add(v, protowire.VarintType)
		case 10:
			timestamps.add(v, protowire.VarintType)
		case 11:
			v.uint64(&m.Rows)
		case 12:
			keys.add(num, v)
		}
		if err != nil {
			return err
		}
	}
	if err := m.keys(keys.body); err != nil {
		return err
	}
	if m.IntKeys == nil && m.StrKeys.body == nil {
		m.IntKeys = old.data
	}
	m.Timestamps = timestamps.data
	var err error
	m.MinTS, m.MaxTS, err = bounds(m.Timestamps)
	return err
}

// keys reads schemapb.IDs: a oneof of numbers and strings.
func (m *Delete) keys(b []byte) error {
	var ids arm
	for len(b) > 0 {
		num, v, n, err := next(b)
		if err != nil {
			return err
		}
		b = b[n:]
		if num == 1 || num == 2 {
			ids.add(num, v)
		}
	}
	var err error
	switch ids.num {
	case 1:
		m.IntKeys, err = numbers(ids.body, protowire.VarintType)
	case 2:
		m.StrKeys, err = newStrings(ids.body)
	}
	return err
}
