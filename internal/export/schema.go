package export

import (
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/internal/archive"
	"flowgraph/stages/column"
)

// schemaOf makes the columns of the fields. old says of which fields there
// are rows that are older than it and have no default: their columns can hold
// nulls whatever the schema says.
func schemaOf(fields []archive.LiveField, old func(id int64) bool) (*arrow.Schema, error) {
	var out []arrow.Field
	for _, f := range fields {
		nullable := f.Nullable || f.Default == nil && old(f.ID)
		t, err := typeOf(f.Field, nullable)
		if err != nil {
			return nil, fmt.Errorf("field %q: %w", f.Name, err)
		}
		out = append(out, arrow.Field{Name: f.Name, Type: t, Nullable: nullable, Metadata: arrow.NewMetadata(
			[]string{"milvus.type", "milvus.field_id"}, []string{f.Type.String(), strconv.FormatInt(f.ID, 10)})})
	}
	return arrow.NewSchema(out, nil), nil
}

// typeOf is the column's type: what a reader of the file can compute with at
// once.
//   - Vectors are fixed-size lists of numbers. Both kinds of half precision
//     become float32, which holds them exactly: Parquet has no bfloat16, and
//     few readers know its float16. Binary vectors are lists of uint8, eight
//     dimensions each, not binary values, so that numpy stacks them to a
//     matrix as it does all others. A vector that can be null is a list of
//     free size: the Parquet library writes no nulls of fixed size.
//   - Sparse vectors are lists of (index, value).
//   - JSON, the dynamic field included, is text.
func typeOf(f column.Field, nullable bool) (arrow.DataType, error) {
	if f.ID == column.Timestamp {
		return arrow.PrimitiveTypes.Uint64, nil
	}
	if t := scalarType(f.Type); t != nil {
		return t, nil
	}
	switch f.Type {
	case schemapb.DataType_Array:
		if t := scalarType(f.Element); t != nil {
			return arrow.ListOfNonNullable(t), nil
		}
		return nil, fmt.Errorf("an array of %s: %w", f.Element, ErrUnsupported)
	case schemapb.DataType_FloatVector, schemapb.DataType_Float16Vector, schemapb.DataType_BFloat16Vector:
		return vectorOf(f.Dim, arrow.PrimitiveTypes.Float32, nullable)
	case schemapb.DataType_Int8Vector:
		return vectorOf(f.Dim, arrow.PrimitiveTypes.Int8, nullable)
	case schemapb.DataType_BinaryVector:
		return vectorOf(f.Dim/8, arrow.PrimitiveTypes.Uint8, nullable)
	case schemapb.DataType_SparseFloatVector:
		return arrow.ListOfNonNullable(sparseEntry()), nil
	}
	return nil, fmt.Errorf("type %s: %w", f.Type, ErrUnsupported)
}

// scalarType is nil for what is no scalar.
func scalarType(t column.Type) arrow.DataType {
	switch t {
	case schemapb.DataType_Bool:
		return arrow.FixedWidthTypes.Boolean
	case schemapb.DataType_Int8:
		return arrow.PrimitiveTypes.Int8
	case schemapb.DataType_Int16:
		return arrow.PrimitiveTypes.Int16
	case schemapb.DataType_Int32:
		return arrow.PrimitiveTypes.Int32
	case schemapb.DataType_Int64:
		return arrow.PrimitiveTypes.Int64
	case schemapb.DataType_Float:
		return arrow.PrimitiveTypes.Float32
	case schemapb.DataType_Double:
		return arrow.PrimitiveTypes.Float64
	case schemapb.DataType_VarChar, schemapb.DataType_String, schemapb.DataType_Text, schemapb.DataType_JSON:
		return arrow.BinaryTypes.String
	case schemapb.DataType_Geometry: // well-known binary
		return arrow.BinaryTypes.Binary
	case schemapb.DataType_Timestamptz: // Unix microseconds
		return &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	}
	return nil
}

func vectorOf(n int, element arrow.DataType, nullable bool) (arrow.DataType, error) {
	if n <= 0 {
		return nil, fmt.Errorf("a vector without a dimension: %w", ErrUnsupported)
	}
	if nullable {
		return arrow.ListOfNonNullable(element), nil
	}
	return arrow.FixedSizeListOfNonNullable(int32(n), element), nil
}

func sparseEntry() *arrow.StructType {
	return arrow.StructOf(
		arrow.Field{Name: "index", Type: arrow.PrimitiveTypes.Uint32},
		arrow.Field{Name: "value", Type: arrow.PrimitiveTypes.Float32},
	)
}
