package binlog

import (
	"encoding/binary"
	"fmt"
)

// maxNesting bounds the depth of a footer; Parquet's own is 7.
const maxNesting = 16

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
	w.fields(fileMetaData, 0)
	if w.bad {
		return fmt.Errorf("%w: parquet footer", ErrCorrupt)
	}
	return nil
}

// shape is a struct of a footer, as far as it holds lists.
type shape int

const (
	plain shape = iota // no lists
	fileMetaData
	schemaElement
	rowGroup
	columnChunk
	columnMetaData
	sizeStatistics
	geoStatistics
)

// list says of what type the elements of a field are that is a list. The
// library does not ask the file: it reads what it expects.
func (s shape) list(field int16) (kind byte, elements shape, known bool) {
	switch s {
	case fileMetaData:
		shapes := [...]shape{2: schemaElement, 4: rowGroup, 5: plain, 7: plain}
		if field == 2 || field == 4 || field == 5 || field == 7 {
			return thriftStruct, shapes[field], true
		}
	case rowGroup:
		if field == 1 {
			return thriftStruct, columnChunk, true
		}
		return thriftStruct, plain, field == 4
	case columnMetaData:
		kinds := [...]byte{2: thriftI32, 3: thriftBinary, 8: thriftStruct, 13: thriftStruct}
		if field == 2 || field == 3 || field == 8 || field == 13 {
			return kinds[field], plain, true
		}
	case sizeStatistics:
		return thriftI64, plain, field == 2 || field == 3
	case geoStatistics:
		return thriftI32, plain, field == 2
	}
	return 0, plain, false
}

// inner is the shape of a field that is a struct.
func (s shape) inner(field int16) shape {
	switch {
	case s == columnChunk && field == 3:
		return columnMetaData
	case s == columnMetaData && field == 16:
		return sizeStatistics
	case s == columnMetaData && field == 17:
		return geoStatistics
	}
	return plain
}
