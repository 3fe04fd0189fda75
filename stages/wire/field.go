package wire

import (
	"fmt"

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

func (f *Field) parse(v field) error {
	if v.typ != protowire.BytesType {
		return fmt.Errorf("%w: a column is not a message", ErrMalformed)
	}
	var valid packed
	for b := v.bytes; len(b) > 0; {
		num, v, n, err := next(b)
		if err != nil {
			return err
		}
		b = b[n:]
		switch num {
		case 1:
			f.Type = int32(v.num)
		case 2:
			f.Name = v.bytes
		case 3:
			err = f.scalars(v.bytes)
		case 4:
			err = f.vectors(v.bytes)
		case 5:
			f.ID = int64(v.num)
		case 7:
			err = valid.add(v)
		}
		if err != nil {
			return err
		}
	}
	f.Valid = valid.data
	return nil
}

// scalarKinds and vectorKinds map the numbers of the oneofs' arms.
var (
	scalarKinds = [...]Kind{1: Bools, 2: Ints, 3: Longs, 4: Floats, 5: Doubles, 6: Texts, 7: Blobs, 8: Arrays, 9: JSONs, 10: Geometry, 11: Timestamptz, 12: GeometryWKT}
	vectorKinds = [...]Kind{2: FloatVector, 3: BinaryVector, 4: Float16Vector, 5: BFloat16Vector, 6: SparseVector, 7: Int8Vector, 8: VectorArray}
)

func (f *Field) scalars(b []byte) error {
	for len(b) > 0 {
		num, v, n, err := next(b)
		if err != nil {
			return err
		}
		b = b[n:]
		if int(num) >= len(scalarKinds) || scalarKinds[num] == None {
			continue
		}
		f.Kind = scalarKinds[num]
		switch f.Kind {
		case Texts, Blobs, Arrays, JSONs, Geometry, GeometryWKT:
			f.Strings, err = newStrings(v.bytes)
		default:
			f.Data, err = numbers(v.bytes)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *Field) vectors(b []byte) error {
	for len(b) > 0 {
		num, v, n, err := next(b)
		if err != nil {
			return err
		}
		b = b[n:]
		if num == 1 {
			f.Dim = int64(v.num)
		}
		if int(num) >= len(vectorKinds) || vectorKinds[num] == None {
			continue
		}
		f.Kind = vectorKinds[num]
		switch f.Kind {
		case FloatVector:
			f.Data, err = numbers(v.bytes)
		case SparseVector:
			f.Strings, err = newStrings(v.bytes)
		default:
			f.Data = v.bytes
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// numbers returns the packed values of field 1 of a message.
func numbers(b []byte) ([]byte, error) {
	var p packed
	for len(b) > 0 {
		num, v, n, err := next(b)
		if err != nil {
			return nil, err
		}
		b = b[n:]
		if num == 1 {
			if err := p.add(v); err != nil {
				return nil, err
			}
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
		num, v, n, err := next(b)
		if err != nil {
			return Strings{}, err
		}
		if num == 1 {
			if v.typ != protowire.BytesType {
				return Strings{}, fmt.Errorf("%w: a string of wire type %d", ErrMalformed, v.typ)
			}
			s.count++
		}
		b = b[n:]
	}
	return s, nil
}

// Len is the number of strings.
func (s Strings) Len() int { return s.count }

// All yields the strings as views.
func (s Strings) All(yield func([]byte) bool) {
	for b := s.body; len(b) > 0; {
		num, v, n, err := next(b)
		if err != nil || num == 1 && !yield(v.bytes) {
			return
		}
		b = b[n:]
	}
}
