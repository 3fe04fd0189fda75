package binlog

import "encoding/binary"

// Numbers of fields that are more than hopped over.
const (
	schemaChildren  = 5 // of schemaElement: how many of those behind it are its own
	columnEncrypted = 8 // of columnChunk
)

// thriftWalk hops over values of Thrift's compact protocol, in the same way as
// the library reads them. Once bad it stands still.
type thriftWalk struct {
	b     []byte
	bad   bool
	nodes uint64 // of the schema
}

// fields hops over a struct.
func (w *thriftWalk) fields(in shape, depth int) {
	for id := int16(0); !w.bad; {
		head := w.byte()
		if head&15 == thriftStop { // also once bad
			return
		}
		if id += int16(head >> 4); head>>4 == 0 { // the number stands behind it
			id = int16(w.zigzag())
		}
		if kind := head & 15; kind > thriftFalse { // a boolean is its type
			w.field(in, id, kind, depth)
		}
	}
}

func (w *thriftWalk) field(in shape, id int16, kind byte, depth int) {
	switch {
	case in == schemaElement && id == schemaChildren && kind == thriftI32:
		if n := w.zigzag(); n < 0 || uint64(n) >= w.nodes {
			w.bad = true
		}
	case in == columnChunk && id == columnEncrypted:
		w.bad = true // cannot be read, and has lists of its own
	case kind == thriftList:
		elements, shape, known := in.list(id)
		if known && (len(w.b) == 0 || w.b[0]&15 != elements) {
			w.bad = true
		}
		w.list(shape, depth)
	default:
		w.value(kind, in.inner(id), depth)
	}
}

func (w *thriftWalk) value(kind byte, in shape, depth int) {
	if depth++; depth > maxNesting {
		w.bad = true
	}
	switch kind {
	case thriftTrue, thriftFalse, thriftByte:
		w.byte()
	case thriftI16, thriftI32, thriftI64:
		w.varint()
	case thriftDouble:
		w.skip(8)
	case thriftBinary:
		w.skip(w.varint())
	case thriftList, thriftSet:
		w.list(plain, depth)
	case thriftStruct:
		w.fields(in, depth)
	default: // a map is in no footer
		w.bad = true
	}
}

func (w *thriftWalk) list(elements shape, depth int) {
	head := w.byte()
	n := uint64(head >> 4)
	if n == 15 {
		n = w.varint()
	}
	if n > uint64(len(w.b)) { // an element takes a byte at least
		w.bad = true
	}
	if elements == schemaElement {
		w.nodes = n
	}
	for range n {
		if w.bad {
			break
		}
		w.value(head&15, elements, depth)
	}
}

func (w *thriftWalk) byte() byte {
	if w.bad || len(w.b) == 0 {
		w.bad = true
		return 0
	}
	v := w.b[0]
	w.b = w.b[1:]
	return v
}

func (w *thriftWalk) varint() uint64 {
	v, n := binary.Uvarint(w.b)
	if w.bad || n <= 0 {
		w.bad = true
		return 0
	}
	w.b = w.b[n:]
	return v
}

func (w *thriftWalk) zigzag() int64 {
	v := w.varint()
	return int64(v>>1) ^ -int64(v&1)
}

func (w *thriftWalk) skip(n uint64) {
	if w.bad || n > uint64(len(w.b)) {
		w.bad = true
		return
	}
	w.b = w.b[n:]
}
