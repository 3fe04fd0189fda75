package traffic

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
)

// dim is the dimension of all dense vectors.
const dim = 16

// field describes a user field; system fields stand last in a schema.
func field(id int64, name string, t schemapb.DataType) *schemapb.FieldSchema {
	f := &schemapb.FieldSchema{FieldID: id, Name: name, DataType: t}
	switch t {
	case schemapb.DataType_FloatVector, schemapb.DataType_Float16Vector, schemapb.DataType_BinaryVector:
		f.TypeParams = []*commonpb.KeyValuePair{{Key: "dim", Value: strconv.Itoa(dim)}}
	case schemapb.DataType_VarChar:
		f.TypeParams = []*commonpb.KeyValuePair{{Key: "max_length", Value: "1024"}}
	case schemapb.DataType_Array:
		f.ElementType = schemapb.DataType_Int32
		f.TypeParams = []*commonpb.KeyValuePair{{Key: "max_capacity", Value: "16"}}
	}
	return f
}

func schema(name string, fields ...*schemapb.FieldSchema) *schemapb.CollectionSchema {
	fields[0].IsPrimaryKey = true
	fields = append(fields,
		&schemapb.FieldSchema{Name: "RowID", Description: "row id", DataType: schemapb.DataType_Int64},
		&schemapb.FieldSchema{FieldID: 1, Name: "Timestamp", Description: "time stamp", DataType: schemapb.DataType_Int64})
	return &schemapb.CollectionSchema{Name: name, Fields: fields}
}

// schemas are those of the collections, in turn.
var schemas = []func(name string) *schemapb.CollectionSchema{
	func(name string) *schemapb.CollectionSchema {
		return schema(name, field(100, "id", schemapb.DataType_Int64), field(101, "vector", schemapb.DataType_FloatVector),
			field(102, "title", schemapb.DataType_VarChar))
	},
	func(name string) *schemapb.CollectionSchema {
		meta := field(103, "$meta", schemapb.DataType_JSON)
		meta.IsDynamic = true
		s := schema(name, field(100, "word", schemapb.DataType_VarChar), field(101, "bits", schemapb.DataType_BinaryVector),
			field(102, "doc", schemapb.DataType_JSON), meta)
		s.EnableDynamicField = true
		return s
	},
	func(name string) *schemapb.CollectionSchema {
		text, number := field(107, "note", schemapb.DataType_VarChar), field(108, "rank", schemapb.DataType_Int32)
		text.Nullable, number.Nullable = true, true
		return schema(name, field(100, "id", schemapb.DataType_Int64), field(101, "flag", schemapb.DataType_Bool),
			field(102, "small", schemapb.DataType_Int8), field(103, "price", schemapb.DataType_Float),
			field(104, "weight", schemapb.DataType_Double), field(105, "half", schemapb.DataType_Float16Vector),
			field(106, "list", schemapb.DataType_Array), text, number)
	},
}

// valueBytes is about what one value takes on the wire.
func valueBytes(f *schemapb.FieldSchema) int {
	switch f.GetDataType() {
	case schemapb.DataType_FloatVector:
		return 4 * dim
	case schemapb.DataType_Float16Vector, schemapb.DataType_VarChar, schemapb.DataType_JSON, schemapb.DataType_Array:
		return 32
	}
	return 8
}

// newKeys draws new keys and remembers some of them.
func (s *Stream) newKeys(c *collection, rows int) *schemapb.IDs {
	const remembered = 500
	if c.key.GetDataType() == schemapb.DataType_VarChar {
		texts := make([]string, rows)
		for i := range texts {
			texts[i] = fmt.Sprintf("key-%x", s.rng.Uint64())
		}
		c.texts = append(c.texts, texts[:min(rows, 10)]...)
		c.texts = c.texts[max(0, len(c.texts)-remembered):]
		return textKeys(texts)
	}
	ints := make([]int64, rows)
	for i := range ints {
		ints[i] = int64(s.rng.Uint64())
	}
	c.ints = append(c.ints, ints[:min(rows, 10)]...)
	c.ints = c.ints[max(0, len(c.ints)-remembered):]
	return intKeys(ints)
}

// known draws up to n keys that were inserted before.
func (s *Stream) known(c *collection, n int) *schemapb.IDs {
	if c.key.GetDataType() == schemapb.DataType_VarChar {
		from := s.rng.IntN(len(c.texts) + 1)
		return textKeys(slices.Clone(c.texts[from:min(len(c.texts), from+n)]))
	}
	from := s.rng.IntN(len(c.ints) + 1)
	return intKeys(slices.Clone(c.ints[from:min(len(c.ints), from+n)]))
}

func textKeys(keys []string) *schemapb.IDs {
	return &schemapb.IDs{IdField: &schemapb.IDs_StrId{StrId: &schemapb.StringArray{Data: keys}}}
}

func intKeys(keys []int64) *schemapb.IDs {
	return &schemapb.IDs{IdField: &schemapb.IDs_IntId{IntId: &schemapb.LongArray{Data: keys}}}
}

func keyCount(ids *schemapb.IDs) int {
	return len(ids.GetIntId().GetData()) + len(ids.GetStrId().GetData())
}

// fieldsData are the user fields' columns in schema order.
func (s *Stream) fieldsData(c *collection, rows int, keys *schemapb.IDs) []*schemapb.FieldData {
	var out []*schemapb.FieldData
	for _, f := range c.schema.GetFields() {
		if f.GetFieldID() < 100 {
			continue
		}
		d := &schemapb.FieldData{Type: f.GetDataType(), FieldName: f.GetName(), FieldId: f.GetFieldID(), IsDynamic: f.GetIsDynamic()}
		s.fill(d, f, rows, keys)
		if f.GetNullable() {
			for range rows {
				d.ValidData = append(d.ValidData, s.rng.IntN(3) > 0)
			}
		}
		out = append(out, d)
	}
	return out
}

func (s *Stream) fill(d *schemapb.FieldData, f *schemapb.FieldSchema, rows int, keys *schemapb.IDs) {
	scalars := &schemapb.ScalarField{}
	vectors := &schemapb.VectorField{Dim: dim}
	switch f.GetDataType() {
	case schemapb.DataType_FloatVector, schemapb.DataType_Float16Vector, schemapb.DataType_BinaryVector:
		d.Field = &schemapb.FieldData_Vectors{Vectors: vectors}
	default:
		d.Field = &schemapb.FieldData_Scalars{Scalars: scalars}
	}
	switch f.GetDataType() {
	case schemapb.DataType_Bool:
		scalars.Data = &schemapb.ScalarField_BoolData{BoolData: &schemapb.BoolArray{
			Data: times(rows, func() bool { return s.rng.IntN(2) == 0 })}}
	case schemapb.DataType_Int8:
		scalars.Data = &schemapb.ScalarField_IntData{IntData: &schemapb.IntArray{
			Data: times(rows, func() int32 { return int32(s.rng.IntN(256)) - 128 })}}
	case schemapb.DataType_Int32:
		scalars.Data = &schemapb.ScalarField_IntData{IntData: &schemapb.IntArray{Data: times(rows, s.rng.Int32)}}
	case schemapb.DataType_Int64:
		scalars.Data = &schemapb.ScalarField_LongData{LongData: &schemapb.LongArray{Data: keys.GetIntId().GetData()}}
	case schemapb.DataType_Float:
		scalars.Data = &schemapb.ScalarField_FloatData{FloatData: &schemapb.FloatArray{Data: times(rows, s.rng.Float32)}}
	case schemapb.DataType_Double:
		scalars.Data = &schemapb.ScalarField_DoubleData{DoubleData: &schemapb.DoubleArray{Data: times(rows, s.rng.NormFloat64)}}
	case schemapb.DataType_VarChar:
		texts := keys.GetStrId().GetData()
		if !f.GetIsPrimaryKey() {
			texts = times(rows, s.text)
		}
		scalars.Data = &schemapb.ScalarField_StringData{StringData: &schemapb.StringArray{Data: texts}}
	case schemapb.DataType_JSON:
		scalars.Data = &schemapb.ScalarField_JsonData{JsonData: &schemapb.JSONArray{
			Data: times(rows, func() []byte { return fmt.Appendf(nil, `{"n":%d,"t":"%s"}`, s.rng.IntN(1000), s.text()) })}}
	case schemapb.DataType_Array:
		scalars.Data = &schemapb.ScalarField_ArrayData{ArrayData: &schemapb.ArrayArray{
			ElementType: f.GetElementType(), Data: times(rows, s.array)}}
	case schemapb.DataType_FloatVector:
		vectors.Data = &schemapb.VectorField_FloatVector{FloatVector: &schemapb.FloatArray{Data: times(rows*dim, s.rng.Float32)}}
	case schemapb.DataType_Float16Vector:
		vectors.Data = &schemapb.VectorField_Float16Vector{Float16Vector: s.bytes(rows * 2 * dim)}
	case schemapb.DataType_BinaryVector:
		vectors.Data = &schemapb.VectorField_BinaryVector{BinaryVector: s.bytes(rows * dim / 8)}
	}
}

func times[T any](n int, next func() T) []T {
	var out []T
	for range n {
		out = append(out, next())
	}
	return out
}

func (s *Stream) text() string {
	const letters = "abcdefghijklmnopqrstuvwxyz  "
	b := make([]byte, s.rng.IntN(40))
	for i := range b {
		b[i] = letters[s.rng.IntN(len(letters))]
	}
	return string(b)
}

func (s *Stream) bytes(n int) []byte {
	var b []byte
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, s.rng.Uint64())
	}
	return b[:n]
}

func (s *Stream) array() *schemapb.ScalarField {
	return &schemapb.ScalarField{Data: &schemapb.ScalarField_IntData{IntData: &schemapb.IntArray{Data: times(s.rng.IntN(8), s.rng.Int32)}}}
}
