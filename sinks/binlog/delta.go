package binlog

import "flowgraph/stages/column"

// EncodeDeltas writes a delta log: keys is an Int64 or VarChar column,
// timestamps an Int64 column of equal length; row i of both is one delete.
// The result never borrows. Errors as of Encode.
func (e *Encoder) EncodeDeltas(m Meta, keys, timestamps *column.Column) (*File, error) {
	return nil, ErrUnsupported
}
