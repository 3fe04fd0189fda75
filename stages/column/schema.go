// Package column holds the columns of a segment while they are buffered, in
// the layout that Parquet calls PLAIN, so that a flush writes them without
// touching single values again.
package column

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/proto"
)

// IDs of the system fields and of the first user field.
const (
	RowID     int64 = 0
	Timestamp int64 = 1
	FirstUser int64 = 100
)

// Type is a data type by Milvus' number.
type Type = schemapb.DataType

// Field describes one column as the binlog format needs it.
type Field struct {
	ID         int64
	Name       string
	Type       Type
	Dim        int  // of vectors with a fixed dimension
	Element    Type // of arrays
	Nullable   bool
	PrimaryKey bool
	Dynamic    bool
}

// Width is the size of one value in bytes, 0 where it varies. A Bool takes a
// byte here and is packed when written.
func (f Field) Width() int {
	switch f.Type {
	case schemapb.DataType_Bool:
		return 1
	case schemapb.DataType_Int8, schemapb.DataType_Int16, schemapb.DataType_Int32, schemapb.DataType_Float:
		return 4
	case schemapb.DataType_Int64, schemapb.DataType_Timestamptz, schemapb.DataType_Double:
		return 8
	case schemapb.DataType_FloatVector:
		return 4 * f.Dim
	case schemapb.DataType_BinaryVector:
		return f.Dim / 8
	case schemapb.DataType_Float16Vector, schemapb.DataType_BFloat16Vector:
		return 2 * f.Dim
	case schemapb.DataType_Int8Vector:
		return f.Dim
	}
	return 0
}

// Supported says whether columns of this type can be buffered and written.
func (f Field) Supported() bool {
	switch f.Type {
	case schemapb.DataType_VarChar, schemapb.DataType_String, schemapb.DataType_Text, schemapb.DataType_JSON,
		schemapb.DataType_Array, schemapb.DataType_Geometry, schemapb.DataType_SparseFloatVector:
		return true
	}
	return f.Width() > 0
}

// HasKeyStats says whether flushes have statistics of this field: a primary
// key, of one of the two types that Milvus lets be one.
func (f Field) HasKeyStats() bool {
	return f.PrimaryKey && !f.Nullable && (f.Type == schemapb.DataType_Int64 || f.Type == schemapb.DataType_VarChar)
}

// Schema is a collection's schema as the row path uses it.
type Schema struct {
	Name   string
	Fields []Field // RowID and Timestamp first, then by ID
	Key    Field   // the primary key
	// Absent holds, by index in Fields, the value of rows whose message has no
	// column for the field: its default; nil is none.
	Absent [][]byte
	// Computed are the outputs of functions that are computed behind the log:
	// no message has them, so no segment does, and Fields leaves them out.
	Computed []Field
}

// ParseSchema reads a serialized schemapb.CollectionSchema.
func ParseSchema(b []byte) (*Schema, error) {
	var pb schemapb.CollectionSchema
	if err := proto.Unmarshal(b, &pb); err != nil {
		return nil, fmt.Errorf("collection schema: %w", err)
	}
	return NewSchema(&pb)
}

// NewSchema takes over what the row path needs of a collection's schema.
func NewSchema(pb *schemapb.CollectionSchema) (*Schema, error) {
	s := &Schema{Name: pb.GetName(), Fields: []Field{
		{ID: RowID, Name: "RowID", Type: schemapb.DataType_Int64},
		{ID: Timestamp, Name: "Timestamp", Type: schemapb.DataType_Int64},
	}}
	values := map[int64][]byte{}
	for _, f := range pb.GetFields() {
		if f.GetFieldID() == RowID || f.GetFieldID() == Timestamp {
			continue
		}
		field, err := newField(f)
		if err != nil {
			return nil, fmt.Errorf("collection %q: %w", pb.GetName(), err)
		}
		if computed(pb, f) {
			s.Computed = append(s.Computed, field)
			continue
		}
		if field.PrimaryKey {
			s.Key = field
		}
		s.Fields = append(s.Fields, field)
		values[field.ID] = absent(field, f.GetDefaultValue())
	}
	for _, f := range pb.GetStructArrayFields() { // known by name, so that their rows are refused by name
		s.Fields = append(s.Fields, Field{ID: f.GetFieldID(), Name: f.GetName(), Type: schemapb.DataType_ArrayOfStruct})
	}
	slices.SortFunc(s.Fields, func(a, b Field) int { return int(a.ID - b.ID) })
	for _, f := range s.Fields {
		s.Absent = append(s.Absent, values[f.ID])
	}
	if s.Key.ID == 0 {
		return nil, fmt.Errorf("collection %q has no primary key", pb.GetName())
	}
	return s, nil
}

func newField(f *schemapb.FieldSchema) (Field, error) {
	out := Field{
		ID: f.GetFieldID(), Name: f.GetName(), Type: f.GetDataType(), Element: f.GetElementType(),
		Nullable: f.GetNullable(), PrimaryKey: f.GetIsPrimaryKey(), Dynamic: f.GetIsDynamic(),
	}
	if dim, ok := param(f.GetTypeParams(), "dim"); ok {
		n, err := strconv.Atoi(dim)
		if err != nil || n <= 0 {
			return out, fmt.Errorf("field %q: dim %q is not a positive number", f.GetName(), dim)
		}
		if out.Type == schemapb.DataType_BinaryVector && n%8 != 0 {
			return out, fmt.Errorf("field %q: dim %d of a binary vector is no multiple of 8", f.GetName(), n)
		}
		out.Dim = n
	}
	return out, nil
}

func param(params []*commonpb.KeyValuePair, key string) (string, bool) {
	for _, p := range params {
		if p.GetKey() == key {
			return p.GetValue(), true
		}
	}
	return "", false
}

// Field returns the field with this ID.
func (s *Schema) Field(id int64) (Field, bool) {
	i, ok := slices.BinarySearchFunc(s.Fields, id, func(f Field, id int64) int { return int(f.ID - id) })
	if !ok {
		return Field{}, false
	}
	return s.Fields[i], true
}
