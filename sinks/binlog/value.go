package binlog

import "flowgraph/stages/column"

// AppendJSON appends one value, as column.Values yields it, in JSON.
func AppendJSON(dst []byte, f column.Field, v []byte, valid bool) ([]byte, error) {
	return dst, ErrUnsupported
}
