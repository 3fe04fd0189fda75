package binlog

// ReadHeaders reads a binlog up to its rows: Log.Rows and Log.Deltas are nil.
func ReadHeaders(b []byte) (*Log, error) { return nil, ErrUnsupported }

// Read reads a whole insert or delta log. The rows do not refer to b.
// Whatever the bytes are, it answers or fails with ErrCorrupt or
// ErrUnsupported.
func Read(b []byte) (*Log, error) { return nil, ErrUnsupported }

// ReadDeltas reads a delta log of any of Milvus' formats.
func ReadDeltas(b []byte) (*Deltas, error) { return nil, ErrUnsupported }
