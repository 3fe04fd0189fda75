package wire

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// Kind is the arm of FieldData's oneofs that holds the values, which decides
// how they travel.
type Kind int

const (
	None          Kind = iota
	Bools              // packed varints
	Ints               // packed varints, for Int8, Int16 and Int32
	Longs              // packed varints
	Floats             // packed fixed32
	Doubles            // packed fixed64
	Texts              // Strings
	Blobs              // Strings
	Arrays             // Strings: one serialized ScalarField a row
	JSONs              // Strings
	Geometry           // Strings: WKB
	Timestamptz        // packed varints
	GeometryWKT        // Strings
	FloatVector        // packed fixed32
	BinaryVector       // raw
	Float16Vector      // raw
	BFloat16Vector
	SparseVector // Strings: one a row
	Int8Vector   // raw
	VectorArray  // not supported
)

// Field is one FieldData: a column of a message.
type Field struct {
	ID      int64
	Name    []byte
	Type    int32 // schemapb.DataType
	Kind    Kind
	Dim     int64   // of vectors
	Data    []byte  // numbers and fixed-width vectors
	Strings Strings // everything with a length of its own
	Valid   []byte  // packed bools, one a row; nil: no nulls
	frame   frame   // of Data; empty if there is none
}

// parse reads a FieldData into f, which may hold another one. Of one that a
// Milvus wrote all fields are taken here, and in any spelling by other.
func (f *Field) parse(column []byte) error {
	if f.again(column) {
		return nil
	}
	f.forget()
	w := fieldWalk{Field: f}
	for at := 0; at < len(column); {
		b := column[at:]
		x, n := head(b)
		switch {
		case n == 0:
			var err error
			if n, err = w.other(b); err != nil {
				return err
			}
		case b[0] == 1<<3|number:
			f.Type = int32(x)
		case b[0] == 5<<3|number:
			f.ID = int64(x)
		case b[0] == 6<<3|number: // is_dynamic
		case b[0] == 2<<3|piece:
			f.Name, w.name = b[n:n+int(x)], at+n
			n += int(x)
		case w.values.num == 0 && (b[0] == 3<<3|piece || b[0] == 4<<3|piece):
			w.values = arm{protowire.Number(b[0] >> 3), view(b[n : n+int(x)])}
			n += int(x)
			w.end = at + n
		default:
			var err error
			if n, err = w.other(b); err != nil {
				return err
			}
		}
		at += n
	}
	if len(w.valid.data) > 0 {
		f.Valid = w.valid.data
	}
	var err error
	switch w.values.num {
	case 3:
		err = f.scalars(w.values.body)
	case 4:
		err = f.vectors(w.values.body)
	}
	if err == nil {
		f.keep(column, w.name, w.end)
	}
	return err
}

// fieldWalk is a column while it is walked.
type fieldWalk struct {
	*Field
	valid  packed
	values arm
	name   int // where the name begins
	end    int // where the message that holds the values ends
}

func (w *fieldWalk) other(b []byte) (int, error) {
	num, v, n, err := next(b)
	if err != nil {
		return 0, err
	}
	switch num {
	case 1:
		v.int32(&w.Type)
	case 2:
		v.text(&w.Name)
	case 3, 4, 8: // scalars, vectors, arrays of structs
		w.values.add(num, v)
	case 5:
		v.int64(&w.ID)
	case 7:
		w.valid.add(v, protowire.VarintType)
	}
	return n, nil
}

// scalarKinds and vectorKinds map the numbers of the oneofs' arms.
var (
	scalarKinds = [...]Kind{1: Bools, 2: Ints, 3: Longs, 4: Floats, 5: Doubles, 6: Texts, 7: Blobs, 8: Arrays, 9: JSONs, 10: Geometry, 11: Timestamptz, 12: GeometryWKT}
	vectorKinds = [...]Kind{2: FloatVector, 3: BinaryVector, 4: Float16Vector, 5: BFloat16Vector, 6: SparseVector, 7: Int8Vector, 8: VectorArray}
)

// ParseScalars reads a serialized ScalarField, which is what one row of an
// array is.
func ParseScalars(b []byte) (Field, error) {
	var f Field
	err := f.scalars(b)
	return f, err
}

func (f *Field) scalars(b []byte) error {
	var values arm
	for len(b) > 0 {
		num, v, n, err := next(b)
		if err != nil {
			return err
		}
		b = b[n:]
		if int(num) < len(scalarKinds) {
			values.add(num, v)
		}
	}
	f.Kind = scalarKinds[values.num]
	var err error
	switch f.Kind {
	case None:
	case Texts, Blobs, Arrays, JSONs, Geometry, GeometryWKT:
		f.Strings, err = newStrings(values.body)
	case Floats:
		f.Data, err = numbers(values.body, protowire.Fixed32Type)
	case Doubles:
		f.Data, err = numbers(values.body, protowire.Fixed64Type)
	default:
		f.Data, err = numbers(values.body, protowire.VarintType)
	}
	return err
}

func (f *Field) vectors(b []byte) error {
	var values arm
	for len(b) > 0 {
		num, v, n, err := next(b)
		if err != nil {
			return err
		}
		b = b[n:]
		if num == 1 {
			v.int64(&f.Dim)
		} else if int(num) < len(vectorKinds) {
			if vectorKinds[num].raw() && v.typ == protowire.BytesType {
				values = arm{} // no message: the last one counts alone
			}
			values.add(num, v)
		}
	}
	f.Kind = vectorKinds[values.num]
	var err error
	switch {
	case f.Kind == FloatVector:
		f.Data, err = numbers(values.body, protowire.Fixed32Type)
	case f.Kind == SparseVector:
		f.Strings, err = newStrings(values.body)
	case f.Kind.raw():
		f.Data = values.body
	}
	return err
}

// raw kinds travel as plain bytes.
func (k Kind) raw() bool {
	return k == BinaryVector || k == Float16Vector || k == BFloat16Vector || k == Int8Vector
}

// numbers returns the packed values of field 1 of a message, which has no
// other.
func numbers(b []byte, elem protowire.Type) ([]byte, error) {
	if x, n := head(b); n > 0 && b[0] == 1<<3|piece && n+int(x) == len(b) {
		return view(b[n:]), nil
	}
	var p packed
	for len(b) > 0 {
		num, v, n, err := next(b)
		if err != nil {
			return nil, err
		}
		b = b[n:]
		if num == 1 {
			p.add(v, elem)
		}
	}
	return p.data, nil
}
