package wire

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
}

// Parse walks a DeleteRequest.
func (m *Delete) Parse(value []byte) error {
	var timestamps, old, keys packed
	for b := value; len(b) > 0; {
		num, v, n, err := next(b)
		if err != nil {
			return err
		}
		b = b[n:]
		switch num {
		case 1:
			m.Base, err = parseBase(v)
		case 2:
			m.Shard = v.bytes
		case 5:
			m.PartitionName = v.bytes
		case 7:
			m.Collection = int64(v.num)
		case 8:
			m.Partition = int64(v.num)
		case 9: // where old clients put the keys
			err = old.add(v)
		case 10:
			err = timestamps.add(v)
		case 11:
			m.Rows = v.num
		case 12:
			err = m.keys(v.bytes, &keys)
		}
		if err != nil {
			return err
		}
	}
	if keys.data == nil && m.StrKeys.body == nil {
		keys = old
	}
	m.Timestamps, m.IntKeys = timestamps.data, keys.data
	var err error
	m.MinTS, m.MaxTS, err = bounds(m.Timestamps)
	return err
}

// keys reads schemapb.IDs.
func (m *Delete) keys(b []byte, ints *packed) error {
	for len(b) > 0 {
		num, v, n, err := next(b)
		if err != nil {
			return err
		}
		b = b[n:]
		switch num {
		case 1:
			var data []byte
			if data, err = numbers(v.bytes); err == nil && data != nil {
				ints.data = data
			}
		case 2:
			m.StrKeys, err = newStrings(v.bytes)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
