package column

import (
	"encoding/binary"
	"math"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
)

// noDynamic is what a row without dynamic values has in the dynamic field.
const noDynamic = "{}"

// absent is the value of a row whose message has no column for the field, as
// Values yields one; nil if there is none but null.
func absent(f Field, v *schemapb.ValueField) []byte {
	if value := defaultOf(f, v); value != nil {
		return value
	}
	if f.Dynamic && !f.Nullable && f.Type == schemapb.DataType_JSON {
		return []byte(noDynamic)
	}
	return nil
}

// defaultOf is a default as a value of the field; nil if it has none, or one
// of another type: that of a geometry is text, which is not what is stored.
func defaultOf(f Field, v *schemapb.ValueField) []byte {
	le := binary.LittleEndian
	switch d := v.GetData().(type) {
	case *schemapb.ValueField_BoolData:
		if f.Type == schemapb.DataType_Bool {
			return []byte{byte(btoi(d.BoolData))}
		}
	case *schemapb.ValueField_IntData:
		return number(f, int64(d.IntData))
	case *schemapb.ValueField_LongData:
		return number(f, d.LongData)
	case *schemapb.ValueField_TimestamptzData:
		return number(f, d.TimestamptzData)
	case *schemapb.ValueField_FloatData:
		if f.Type == schemapb.DataType_Float {
			return le.AppendUint32(nil, math.Float32bits(d.FloatData))
		}
	case *schemapb.ValueField_DoubleData:
		if f.Type == schemapb.DataType_Double {
			return le.AppendUint64(nil, math.Float64bits(d.DoubleData))
		}
	case *schemapb.ValueField_StringData:
		switch f.Type {
		case schemapb.DataType_VarChar, schemapb.DataType_String, schemapb.DataType_Text:
			return append([]byte{}, d.StringData...) // an empty one is not nil
		}
	case *schemapb.ValueField_BytesData:
		if f.Type == schemapb.DataType_JSON {
			return append([]byte{}, d.BytesData...)
		}
	}
	return nil
}

func number(f Field, v int64) []byte {
	switch f.Type {
	case schemapb.DataType_Int8, schemapb.DataType_Int16, schemapb.DataType_Int32:
		return binary.LittleEndian.AppendUint32(nil, uint32(v))
	case schemapb.DataType_Int64, schemapb.DataType_Timestamptz:
		return binary.LittleEndian.AppendUint64(nil, uint64(v))
	}
	return nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// computed says whether the field is the output of a function that Milvus
// computes behind the log, such as the sparse vectors of BM25. Only a text
// embedding is asked of its provider before the rows are sent.
func computed(pb *schemapb.CollectionSchema, f *schemapb.FieldSchema) bool {
	for _, fn := range pb.GetFunctions() {
		if fn.GetType() == schemapb.FunctionType_Unknown || fn.GetType() == schemapb.FunctionType_TextEmbedding {
			continue
		}
		for _, id := range fn.GetOutputFieldIds() {
			if id == f.GetFieldID() {
				return true
			}
		}
		for _, name := range fn.GetOutputFieldNames() {
			if name == f.GetName() {
				return true
			}
		}
	}
	return false
}
