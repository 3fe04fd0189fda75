package archive

import (
	"encoding/binary"
	"math"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/stages/column"
)

// defaultOf is a default as a value of the field; nil if there is none. The
// oracle makes it on a way of its own, as everything else.
func defaultOf(f column.Field, v *schemapb.ValueField) []byte {
	le := binary.LittleEndian
	switch d := v.GetData().(type) {
	case *schemapb.ValueField_BoolData:
		if d.BoolData {
			return []byte{1}
		}
		return []byte{0}
	case *schemapb.ValueField_IntData:
		return integer(f, int64(d.IntData))
	case *schemapb.ValueField_LongData:
		return integer(f, d.LongData)
	case *schemapb.ValueField_TimestamptzData:
		return integer(f, d.TimestamptzData)
	case *schemapb.ValueField_FloatData:
		if f.Type == schemapb.DataType_Double {
			return le.AppendUint64(nil, math.Float64bits(float64(d.FloatData)))
		}
		return le.AppendUint32(nil, math.Float32bits(d.FloatData))
	case *schemapb.ValueField_DoubleData:
		if f.Type == schemapb.DataType_Float {
			return le.AppendUint32(nil, math.Float32bits(float32(d.DoubleData)))
		}
		return le.AppendUint64(nil, math.Float64bits(d.DoubleData))
	case *schemapb.ValueField_StringData:
		return append([]byte{}, d.StringData...) // an empty one is not nil
	case *schemapb.ValueField_BytesData:
		return append([]byte{}, d.BytesData...)
	}
	return nil
}

func integer(f column.Field, v int64) []byte {
	if f.Width() == 4 {
		return binary.LittleEndian.AppendUint32(nil, uint32(v))
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(v))
}
