package binlog

import (
	"fmt"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/stages/column"
)

// Parquet's numbers.
const (
	parquetBoolean   = 0
	parquetInt32     = 1
	parquetInt64     = 2
	parquetFloat     = 4
	parquetDouble    = 5
	parquetByteArray = 6
	parquetFixed     = 7

	convertedUTF8  = 0
	convertedInt8  = 15 // INT_8, INT_16, INT_32, INT_64 follow each other
	notConverted   = -1
	repeatRequired = 0
	repeatOptional = 1

	codecRaw  = 0
	codecZstd = 6

	encodingPlain = 0
	encodingRLE   = 3
)

// leaf is a field as a Parquet schema node. Milvus' readers insist on the
// annotations: UTF8 on strings and on nothing else, INT_8 and INT_16 on small
// integers, a fixed length for vectors.
type leaf struct {
	physical  int32
	length    int32 // of parquetFixed
	converted int32
	bits      int8 // of an annotated integer
	ordered   bool // minimum and maximum are kept
}

func leafOf(f column.Field) (leaf, error) {
	l := leaf{converted: notConverted}
	switch f.Type {
	case schemapb.DataType_Bool:
		l.physical = parquetBoolean
	case schemapb.DataType_Int8:
		l = integer(parquetInt32, convertedInt8, 8)
	case schemapb.DataType_Int16:
		l = integer(parquetInt32, convertedInt8+1, 16)
	case schemapb.DataType_Int32:
		l = integer(parquetInt32, convertedInt8+2, 32)
	case schemapb.DataType_Int64, schemapb.DataType_Timestamptz:
		l = integer(parquetInt64, convertedInt8+3, 64)
	case schemapb.DataType_Float:
		l.physical, l.ordered = parquetFloat, true
	case schemapb.DataType_Double:
		l.physical, l.ordered = parquetDouble, true
	case schemapb.DataType_VarChar, schemapb.DataType_String, schemapb.DataType_Text:
		l.physical, l.converted, l.ordered = parquetByteArray, convertedUTF8, true
	case schemapb.DataType_JSON, schemapb.DataType_Array, schemapb.DataType_Geometry, schemapb.DataType_SparseFloatVector:
		l.physical = parquetByteArray
	default:
		if !f.Supported() {
			return l, fmt.Errorf("field %d: %w: type %v with dimension %d", f.ID, ErrUnsupported, f.Type, f.Dim)
		}
		l.physical, l.length = parquetFixed, int32(f.Width())
	}
	return l, nil
}

func integer(physical, converted int32, bits int8) leaf {
	return leaf{physical: physical, converted: converted, bits: bits, ordered: true}
}
