package stages

import (
	"fmt"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/stages/column"
	"flowgraph/stages/varint"
	"flowgraph/stages/wire"
)

// maxRows bounds what a message may claim; a record is far below it.
const maxRows = 1 << 30

// fit finds the column view of each schema field, in the schema's order, and
// says why the message does not fit. A nil view stands for the system fields
// and for a field that the message leaves out, which has its default or null.
func fit(s *column.Schema, m *wire.Insert, fields []wire.Field, views []*wire.Field) ([]*wire.Field, error) {
	if m.RowBased {
		return nil, fmt.Errorf("row based inserts are not supported")
	}
	if m.Rows > maxRows {
		return nil, fmt.Errorf("%d rows in one message", m.Rows)
	}
	rows := int(m.Rows)
	if err := counts("row IDs", m.RowIDs, rows); err != nil {
		return nil, err
	}
	if err := timestamps(m.Timestamps, m.Stamped, rows); err != nil {
		return nil, err
	}
	views, used := views[:0], 0
	for i := range s.Fields {
		f := &s.Fields[i]
		if f.ID < column.FirstUser {
			views = append(views, nil)
			continue
		}
		if !f.Supported() {
			return nil, fmt.Errorf("field %q (%d): type %s is not supported", f.Name, f.ID, f.Type)
		}
		v := find(fields, f, i-2)
		if v == nil {
			if err := mayBeAbsent(f, s.Absent[i], m); err != nil {
				return nil, fmt.Errorf("field %q (%d) %w", f.Name, f.ID, err)
			}
		} else {
			used++
			if err := fieldFits(f, v, rows); err != nil {
				return nil, fmt.Errorf("field %q (%d): %w", f.Name, f.ID, err)
			}
		}
		views = append(views, v)
	}
	for i := range s.Computed { // computed again from what it is computed from
		if used < len(fields) && find(fields, &s.Computed[i], len(fields)) != nil {
			used++
		}
	}
	if used != len(fields) {
		return nil, fmt.Errorf("%d columns, of which the schema knows %d", len(fields), used)
	}
	return views, nil
}

// maxFilled bounds what a default can make of a message that leaves its
// column out, in bytes.
const maxFilled = 1 << 30

// mayBeAbsent says why a message must have a column for the field. Milvus 2.6
// leaves out what has a default or can be null, above all of a field that was
// added after the sender has read the schema; earlier releases send all.
func mayBeAbsent(f *column.Field, value []byte, m *wire.Insert) error {
	if m.Rows > 0 && !f.Nullable && (value == nil || !m.Stamped && !f.Dynamic) {
		return fmt.Errorf("is missing")
	}
	if len(value) > 0 && m.Rows > maxFilled/uint64(len(value)) {
		return fmt.Errorf("is missing in %d rows and its default has %d bytes", m.Rows, len(value))
	}
	return nil
}

// find looks where the field is expected first: columns travel in schema order.
func find(fields []wire.Field, f *column.Field, at int) *wire.Field {
	if at < len(fields) && fields[at].ID == f.ID {
		return &fields[at]
	}
	for i := range fields {
		if fields[i].ID == f.ID || fields[i].ID == 0 && string(fields[i].Name) == f.Name {
			return &fields[i]
		}
	}
	return nil
}

func counts(what string, packed []byte, rows int) error {
	if n, whole := varint.Count(packed); n != rows || !whole {
		return fmt.Errorf("%d %s for %d rows", n, what, rows)
	}
	return nil
}

// timestamps in the body of a stamped message are placeholders, not always
// one a row.
func timestamps(packed []byte, stamped bool, rows int) error {
	if stamped {
		return nil
	}
	return counts("timestamps", packed, rows)
}

func fieldFits(f *column.Field, v *wire.Field, rows int) error {
	if v.Valid != nil {
		if !f.Nullable {
			return fmt.Errorf("nulls in a field that has none")
		}
		if err := counts("validity marks", v.Valid, rows); err != nil {
			return err
		}
	}
	if v.Kind == wire.GeometryWKT {
		return fmt.Errorf("a geometry as text (WKT): Milvus logs and stores well-known binary")
	}
	if v.Kind == wire.None && rows > 0 || v.Kind != wire.None && !travels(f.Type, v.Kind) {
		return fmt.Errorf("values of another type than %s", f.Type)
	}
	n, err := values(f, v)
	if err == nil && n != rows {
		err = fmt.Errorf("%d values for %d rows", n, rows)
	}
	return err
}

// travels says whether values of a type may be in an arm of FieldData.
func travels(t schemapb.DataType, k wire.Kind) bool {
	switch t {
	case schemapb.DataType_Bool:
		return k == wire.Bools
	case schemapb.DataType_Int8, schemapb.DataType_Int16, schemapb.DataType_Int32:
		return k == wire.Ints
	case schemapb.DataType_Int64:
		return k == wire.Longs
	case schemapb.DataType_Timestamptz:
		return k == wire.Timestamptz || k == wire.Longs
	case schemapb.DataType_Float:
		return k == wire.Floats
	case schemapb.DataType_Double:
		return k == wire.Doubles
	case schemapb.DataType_String, schemapb.DataType_VarChar, schemapb.DataType_Text:
		return k == wire.Texts
	case schemapb.DataType_JSON:
		return k == wire.JSONs
	case schemapb.DataType_Geometry:
		return k == wire.Geometry
	case schemapb.DataType_Array:
		return k == wire.Arrays
	}
	return travelsAsVector(t, k)
}

func travelsAsVector(t schemapb.DataType, k wire.Kind) bool {
	switch t {
	case schemapb.DataType_FloatVector:
		return k == wire.FloatVector
	case schemapb.DataType_BinaryVector:
		return k == wire.BinaryVector
	case schemapb.DataType_Float16Vector:
		return k == wire.Float16Vector
	case schemapb.DataType_BFloat16Vector:
		return k == wire.BFloat16Vector
	case schemapb.DataType_SparseFloatVector:
		return k == wire.SparseVector
	case schemapb.DataType_Int8Vector:
		return k == wire.Int8Vector
	}
	return false
}

// values counts the values of a column.
func values(f *column.Field, v *wire.Field) (int, error) {
	switch v.Kind {
	case wire.Bools, wire.Ints, wire.Longs, wire.Timestamptz:
		n, whole := varint.Count(v.Data)
		if !whole {
			return 0, fmt.Errorf("a value is cut short")
		}
		return n, nil
	case wire.Floats, wire.Doubles, wire.FloatVector, wire.BinaryVector, wire.Float16Vector, wire.BFloat16Vector, wire.Int8Vector:
		if len(v.Data)%f.Width() != 0 {
			return 0, fmt.Errorf("%d bytes are no multiple of a value's %d", len(v.Data), f.Width())
		}
		return len(v.Data) / f.Width(), nil
	case wire.Texts:
		if !v.Strings.UTF8() {
			return 0, fmt.Errorf("a text is not UTF-8")
		}
	case wire.SparseVector:
		for s := range v.Strings.All {
			if len(s)%sparseEntry != 0 {
				return 0, fmt.Errorf("a sparse vector of %d bytes is no list of indices and values", len(s))
			}
		}
	case wire.Arrays:
		for s := range v.Strings.All {
			if err := arrayFits(f, s); err != nil {
				return 0, err
			}
		}
	}
	return v.Strings.Len(), nil
}

// sparseEntry is the size of an index and its value.
const sparseEntry = 8

// arrayFits looks into an array, which is stored as it was sent: Milvus would
// not read it if it were no message, or of another element type.
func arrayFits(f *column.Field, row []byte) error {
	a, err := wire.ParseScalars(row)
	switch {
	case err != nil:
		return fmt.Errorf("an array: %w", err)
	case a.Kind != wire.None && !travels(f.Element, a.Kind):
		return fmt.Errorf("an array of another type than %s", f.Element)
	case a.Kind == wire.Texts && !a.Strings.UTF8():
		return fmt.Errorf("a text in an array is not UTF-8")
	}
	return nil
}
