package wire

import (
	"unicode/utf8"

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
}

// parse reads a FieldData. Of one that a Milvus wrote all fields are taken
// here, and in any spelling by other.
func (f *Field) parse(b []byte) error {
	w := fieldWalk{Field: f}
	for len(b) > 0 {
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
			f.Name = b[n : n+int(x)]
			n += int(x)
		case w.values.num == 0 && (b[0] == 3<<3|piece || b[0] == 4<<3|piece):
			w.values = arm{protowire.Number(b[0] >> 3), view(b[n : n+int(x)])}
			n += int(x)
		default:
			var err error
			if n, err = w.other(b); err != nil {
				return err
			}
		}
		b = b[n:]
	}
	if len(w.valid.data) > 0 {
		f.Valid = w.valid.data
	}
	switch w.values.num {
	case 3:
		return f.scalars(w.values.body)
	case 4:
		return f.vectors(w.values.body)
	}
	return nil
}

// fieldWalk is a column while it is walked.
type fieldWalk struct {
	*Field
	valid  packed
	values arm
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

// Strings is a message whose field 1 repeats byte strings.
type Strings struct {
	body  []byte
	count int
}

// newStrings checks the whole message, so that All cannot fail.
func newStrings(body []byte) (Strings, error) {
	s := Strings{body: body}
	if body == nil {
		s.body = []byte{}
	}
	for b := body; len(b) > 0; {
		if x, n := head(b); n > 0 && b[0] == 1<<3|piece {
			s.count++
			b = b[n+int(x):]
			continue
		}
		num, v, n, err := next(b)
		if err != nil {
			return Strings{}, err
		}
		if num == 1 && v.typ == protowire.BytesType {
			s.count++
		}
		b = b[n:]
	}
	return s, nil
}

// Len is the number of strings.
func (s Strings) Len() int { return s.count }

// UTF8 says whether all of them are, as protobuf's strings and Milvus' texts
// have to be.
func (s Strings) UTF8() bool {
	for v := range s.All {
		if !utf8.Valid(v) {
			return false
		}
	}
	return true
}

// All yields the strings as views.
func (s Strings) All(yield func([]byte) bool) {
	for b := s.body; len(b) > 0; {
		if x, n := head(b); n > 0 && b[0] == 1<<3|piece {
			end := n + int(x)
			if !yield(b[n:end]) {
				return
			}
			b = b[end:]
			continue
		}
		num, v, n, err := next(b)
		if err != nil || num == 1 && v.typ == protowire.BytesType && !yield(v.bytes) {
			return
		}
		b = b[n:]
	}
}
