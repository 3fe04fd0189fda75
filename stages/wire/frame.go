package wire

import "bytes"

// frame is what stands around a column's values, up to them and behind them.
// Most messages of a log differ from the one before in nothing but values of
// the same length, so a column is known by its frame instead of being walked.
type frame struct{ head, tail []byte }

// maxFrame is the size of a frame to remember, in bytes: there is more in it
// than a Milvus writes if it is greater.
const maxFrame = 1 << 10

// again takes b as the column that f was read from last, with other values.
// It is false, and f as it was, if b differs in anything else.
func (f *Field) again(b []byte) bool {
	from, to := len(f.frame.head), len(b)-len(f.frame.tail)
	if from == 0 || to-from != len(f.Data) || !bytes.Equal(b[:from], f.frame.head) || !bytes.Equal(b[to:], f.frame.tail) {
		return false
	}
	f.Data = view(b[from:to])
	return true
}

// keep remembers the frame of what was read from b, if its values are one
// piece of b that ends at end. The frame is a copy, and so is the name then,
// which begins at name: no column holds back a record that was read before.
func (f *Field) keep(b []byte, name, end int) {
	from := end - len(f.Data)
	if len(b)-len(f.Data) > maxFrame || f.Valid != nil || !stands(f.Data, b, from) || !stands(f.Name, b[:from], name) {
		return
	}
	f.frame = frame{append(f.frame.head[:0], b[:from]...), append(f.frame.tail[:0], b[end:]...)}
	f.Name = f.frame.head[name : name+len(f.Name)]
}

// stands says whether v is the very part of b that begins at from.
func stands(v, b []byte, from int) bool {
	return len(v) > 0 && from > 0 && from+len(v) <= len(b) && &b[from] == &v[0]
}

// forget empties f for a column of another frame; its memory is used again.
func (f *Field) forget() {
	*f = Field{frame: frame{f.frame.head[:0], f.frame.tail[:0]}}
}
