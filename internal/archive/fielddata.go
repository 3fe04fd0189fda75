package archive

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/milvus-io/milvus-proto/go-api/v2/msgpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/proto"

	"flowgraph/stages/column"
)

// fieldColumn is one field of a message: its values as a binlog has them.
type fieldColumn struct {
	id    int64
	valid []bool // nil: all
	rows  int
	// value returns row i's value; it may use the scratch space given.
	value func(i int, scratch []byte) []byte
}

// columns are the message's user fields by ID, or why the message does not
// fit the collection.
func (c *expectedCollection) columns(m *msgpb.InsertRequest, wal bool) ([]fieldColumn, error) {
	rows := int(m.GetNumRows())
	if len(m.GetRowIDs()) != rows || !wal && len(m.GetTimestamps()) != rows || len(m.GetRowData()) > 0 || m.GetPartitionID() <= 0 {
		return nil, fmt.Errorf("%d row IDs and %d timestamps for %d rows in partition %d",
			len(m.GetRowIDs()), len(m.GetTimestamps()), rows, m.GetPartitionID())
	}
	var out []fieldColumn
	for _, data := range m.GetFieldsData() {
		f := c.field(data)
		if f == nil {
			return nil, fmt.Errorf("field %q (%d) is not in the schema", data.GetFieldName(), data.GetFieldId())
		}
		if c.computes(f) {
			continue
		}
		col, err := newFieldColumn(f, data)
		if err != nil {
			return nil, fmt.Errorf("field %q: %w", f.GetName(), err)
		}
		if col.rows != rows || len(col.valid) > 0 && (len(col.valid) != rows || !f.GetNullable()) {
			return nil, fmt.Errorf("field %q: %d values, %d validity marks for %d rows", f.GetName(), col.rows, len(col.valid), rows)
		}
		out = append(out, col)
	}
	for _, f := range c.schema.GetStructArrayFields() {
		return nil, fmt.Errorf("field %q: arrays of structs are not stored", f.GetName())
	}
	out, err := c.missing(out, rows, wal)
	slices.SortFunc(out, func(a, b fieldColumn) int { return int(a.id - b.id) })
	return out, err
}

// missing adds the fields that a message of so many rows leaves out and that
// have a value nevertheless; another that must have one is an error.
func (c *expectedCollection) missing(out []fieldColumn, rows int, wal bool) ([]fieldColumn, error) {
	for _, f := range c.schema.GetFields() {
		has := slices.ContainsFunc(out, func(col fieldColumn) bool { return col.id == f.GetFieldID() })
		if f.GetFieldID() < 100 || has || rows == 0 || c.computes(f) {
			continue
		}
		value := defaultOf(column.Field{Type: f.GetDataType()}, f.GetDefaultValue())
		if value == nil && f.GetIsDynamic() && !f.GetNullable() {
			value = []byte("{}")
		}
		if !f.GetNullable() && (value == nil || !wal && !f.GetIsDynamic()) {
			return nil, fmt.Errorf("field %q is missing", f.GetName())
		}
		if value != nil {
			out = append(out, fieldColumn{id: f.GetFieldID(), rows: rows, value: func(int, []byte) []byte { return value }})
		}
	}
	return out, nil
}

func (c *expectedCollection) field(data *schemapb.FieldData) *schemapb.FieldSchema {
	for _, f := range c.schema.GetFields() {
		if f.GetFieldID() == data.GetFieldId() || data.GetFieldId() == 0 && f.GetName() == data.GetFieldName() {
			return f
		}
	}
	return nil
}

// computes says whether Milvus computes the field behind the log: every
// function's output but that of a text embedding.
func (c *expectedCollection) computes(f *schemapb.FieldSchema) bool {
	return slices.ContainsFunc(c.schema.GetFunctions(), func(fn *schemapb.FunctionSchema) bool {
		return fn.GetType() != schemapb.FunctionType_TextEmbedding && fn.GetType() != schemapb.FunctionType_Unknown &&
			(slices.Contains(fn.GetOutputFieldIds(), f.GetFieldID()) || slices.Contains(fn.GetOutputFieldNames(), f.GetName()))
	})
}

func newFieldColumn(f *schemapb.FieldSchema, data *schemapb.FieldData) (fieldColumn, error) {
	col := fieldColumn{id: f.GetFieldID(), valid: data.GetValidData()}
	var err error
	if data.GetVectors() != nil {
		err = col.vectors(f, data.GetVectors())
	} else {
		err = col.scalars(f, data.GetScalars())
	}
	return col, err
}

// numbers makes a column of n numbers.
func (c *fieldColumn) numbers(n int, put func(scratch []byte, i int) []byte) {
	c.rows, c.value = n, func(i int, scratch []byte) []byte { return put(scratch[:0], i) }
}

func (c *fieldColumn) scalars(f *schemapb.FieldSchema, s *schemapb.ScalarField) error {
	le := binary.LittleEndian
	switch t := f.GetDataType(); t {
	case schemapb.DataType_Bool:
		v := s.GetBoolData().GetData()
		c.numbers(len(v), func(b []byte, i int) []byte {
			if v[i] {
				return append(b, 1)
			}
			return append(b, 0)
		})
	case schemapb.DataType_Int8, schemapb.DataType_Int16, schemapb.DataType_Int32:
		v := s.GetIntData().GetData()
		c.numbers(len(v), func(b []byte, i int) []byte { return le.AppendUint32(b, uint32(v[i])) })
	case schemapb.DataType_Int64, schemapb.DataType_Timestamptz:
		v := s.GetLongData().GetData()
		if t == schemapb.DataType_Timestamptz && s.GetTimestamptzData() != nil {
			v = s.GetTimestamptzData().GetData()
		}
		c.numbers(len(v), func(b []byte, i int) []byte { return le.AppendUint64(b, uint64(v[i])) })
	case schemapb.DataType_Float:
		v := s.GetFloatData().GetData()
		c.numbers(len(v), func(b []byte, i int) []byte { return le.AppendUint32(b, math.Float32bits(v[i])) })
	case schemapb.DataType_Double:
		v := s.GetDoubleData().GetData()
		c.numbers(len(v), func(b []byte, i int) []byte { return le.AppendUint64(b, math.Float64bits(v[i])) })
	case schemapb.DataType_VarChar, schemapb.DataType_String, schemapb.DataType_Text:
		v := s.GetStringData().GetData()
		c.numbers(len(v), func(b []byte, i int) []byte { return append(b, v[i]...) })
	case schemapb.DataType_JSON:
		c.texts(s.GetJsonData().GetData())
	case schemapb.DataType_Geometry:
		c.texts(s.GetGeometryData().GetData())
	case schemapb.DataType_Array:
		return c.arrays(s.GetArrayData().GetData())
	default:
		return fmt.Errorf("type %s is not a scalar that is stored", t)
	}
	return nil
}

func (c *fieldColumn) texts(v [][]byte) {
	c.rows, c.value = len(v), func(i int, _ []byte) []byte { return v[i] }
}

// arrays are stored serialized.
func (c *fieldColumn) arrays(v []*schemapb.ScalarField) error {
	texts := make([][]byte, len(v))
	for i, a := range v {
		var err error
		if texts[i], err = proto.Marshal(a); err != nil {
			return err
		}
	}
	c.texts(texts)
	return nil
}

func (c *fieldColumn) vectors(f *schemapb.FieldSchema, v *schemapb.VectorField) error {
	dim := 0
	for _, p := range f.GetTypeParams() {
		if p.GetKey() == "dim" {
			dim, _ = strconv.Atoi(p.GetValue())
		}
	}
	switch t := f.GetDataType(); t {
	case schemapb.DataType_FloatVector:
		floats := v.GetFloatVector().GetData()
		raw := make([]byte, 0, 4*len(floats))
		for _, x := range floats {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
		}
		return c.fixed(raw, 4*dim)
	case schemapb.DataType_BinaryVector:
		return c.fixed(v.GetBinaryVector(), dim/8)
	case schemapb.DataType_Float16Vector:
		return c.fixed(v.GetFloat16Vector(), 2*dim)
	case schemapb.DataType_BFloat16Vector:
		return c.fixed(v.GetBfloat16Vector(), 2*dim)
	case schemapb.DataType_Int8Vector:
		return c.fixed(v.GetInt8Vector(), dim)
	case schemapb.DataType_SparseFloatVector:
		c.texts(v.GetSparseFloatVector().GetContents())
		for _, row := range v.GetSparseFloatVector().GetContents() {
			if len(row)%8 != 0 {
				return fmt.Errorf("a sparse vector of %d bytes", len(row))
			}
		}
		return nil
	default:
		return fmt.Errorf("type %s is not a vector that is stored", t)
	}
}

func (c *fieldColumn) fixed(raw []byte, width int) error {
	if width <= 0 || len(raw)%width != 0 {
		return fmt.Errorf("%d bytes of vectors of %d", len(raw), width)
	}
	c.rows, c.value = len(raw)/width, func(i int, _ []byte) []byte { return raw[i*width : (i+1)*width] }
	return nil
}

// keys returns the keys of as many deletes as a delta log gives them back.
func (c *expectedCollection) keys(m *msgpb.DeleteRequest, rows int) (func(i int) []byte, error) {
	ints := m.GetPrimaryKeys().GetIntId().GetData()
	if m.GetPrimaryKeys() == nil {
		ints = m.GetInt64PrimaryKeys()
	}
	strings := m.GetPrimaryKeys().GetStrId().GetData()
	if m.GetPartitionID() <= 0 && m.GetPartitionID() != -1 || m.GetNumRows() != int64(rows) {
		return nil, fmt.Errorf("%d timestamps for %d deletes in partition %d", rows, m.GetNumRows(), m.GetPartitionID())
	}
	text := false
	for _, f := range c.schema.GetFields() {
		text = text || f.GetIsPrimaryKey() && f.GetDataType() == schemapb.DataType_VarChar
	}
	if text && len(strings) == rows {
		return func(i int) []byte { return []byte(strings[i]) }, nil
	}
	if !text && len(ints) == rows && len(strings) == 0 {
		return func(i int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(ints[i])) }, nil
	}
	return nil, fmt.Errorf("%d number keys and %d string keys for %d deletes", len(ints), len(strings), rows)
}
