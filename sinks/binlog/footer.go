package binlog

import (
	"encoding/binary"
	"fmt"
)

// maxNesting bounds the depth of a footer; Parquet's own is 7.
const maxNesting = 16

// Numbers of fields in a footer.
const (
	metaSchema     = 2 // of FileMetaData: all nodes in one list
	schemaChildren = 5 // of SchemaElement: how many of those behind it are its own
)

// checkFooter walks a Parquet file's footer before the library reads it: the
// library makes room for as many elements as a list, and as many children as
// a node of the schema, says that it has, so one damaged byte would ask for
// gigabytes. Here every element, every child and every byte of a string must
// be there.
func checkFooter(payload []byte) error {
	const tail = 4 + len(parquetMagic)
	if len(payload) < tail {
		return fmt.Errorf("%w: parquet of %d bytes", ErrCorrupt, len(payload))
	}
	rest := payload[:len(payload)-tail]
	size := int64(binary.LittleEndian.Uint32(payload[len(rest):]))
	if size > int64(len(rest)) {
		return fmt.Errorf("%w: parquet footer of %d bytes in a file of %d", ErrCorrupt, size, len(payload))
	}
	w := thriftWalk{b: rest[int64(len(rest))-size:]}
	w.fields(0, false)
	if w.bad {
		return fmt.Errorf("%w: parquet footer", ErrCorrupt)
	}
	return nil
}

// thriftWalk hops over values of Thrift's compact protocol. Once bad it stands
// still.
type thriftWalk struct {
	b     []byte
	bad   bool
	nodes uint64 // of the schema
}

// fields hops over a struct, which may be a node of the schema.
func (w *thriftWalk) fields(depth int, node bool) {
	for id := int16(0); !w.bad; {
		head := w.byte()
		if head&15 == thriftStop { // also once bad
			return
		}
		if id += int16(head >> 4); head>>4 == 0 { // the number stands behind it
			id = int16(w.zigzag())
		}
		switch kind := head & 15; {
		case kind <= thriftFalse: // a boolean is its type
		case depth == 0 && id == metaSchema && kind == thriftList:
			w.list(0, true)
		case node && id == schemaChildren && kind == thriftI32:
			if n := w.zigzag(); n < 0 || uint64(n) >= w.nodes {
				w.bad = true
			}
		default:
			w.value(kind, depth, false)
		}
	}
}

func (w *thriftWalk) value(kind byte, depth int, node bool) {
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
		w.list(depth, false)
	case thriftStruct:
		w.fields(depth, node)
	default: // a map is in no footer
		w.bad = true
	}
}

// list hops over a list, which may be that of the schema's nodes.
func (w *thriftWalk) list(depth int, nodes bool) {
	head := w.byte()
	n := uint64(head >> 4)
	if n == 15 {
		n = w.varint()
	}
	if n > uint64(len(w.b)) { // an element takes a byte at least
		w.bad = true
	}
	if nodes {
		w.nodes = n
	}
	for range n {
		if w.bad {
			break
		}
		w.value(head&15, depth, nodes)
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
