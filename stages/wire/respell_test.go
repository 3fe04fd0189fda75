package wire_test

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// spelling is a way to write a message that no client of ours has to choose
// and that every reader of protobuf must understand alike.
type spelling struct {
	name    string
	piece   int  // numbers a packed piece; 0: none is packed
	unknown bool // fields of the future between the others
	twice   bool // every message in two pieces
}

var spellings = []spelling{
	{"as usual", 1 << 30, false, false},
	{"unpacked", 0, false, false},
	{"in packed pieces", 2, false, false},
	{"with unknown fields", 1 << 30, true, false},
	{"messages in two pieces", 3, true, true},
}

// marshal writes m anew.
func (s spelling) marshal(m protoreflect.Message) []byte {
	var fields [][]byte
	fds := m.Descriptor().Fields()
	for i := range fds.Len() {
		if fd := fds.Get(i); m.Has(fd) {
			fields = append(fields, s.field(fd, m.Get(fd))...)
		}
	}
	var out []byte
	for i, f := range fields {
		if s.unknown {
			out = protowire.AppendTag(out, 2000, protowire.StartGroupType)
			out = protowire.AppendTag(out, 1, protowire.VarintType)
			out = protowire.AppendVarint(out, uint64(i))
			out = protowire.AppendTag(out, 2000, protowire.EndGroupType)
			out = protowire.AppendTag(out, 2001, protowire.BytesType)
			out = protowire.AppendString(out, "of a later release")
		}
		out = append(out, f...)
	}
	return out
}

// field writes a field as the pieces that are to stand one after another.
func (s spelling) field(fd protoreflect.FieldDescriptor, v protoreflect.Value) [][]byte {
	switch {
	case fd.IsMap():
		return nil
	case fd.IsList() && fd.IsPacked():
		return s.numbers(fd, v.List())
	case fd.IsList():
		var out [][]byte
		for i := range v.List().Len() {
			out = append(out, s.single(fd, v.List().Get(i), false)...)
		}
		return out
	}
	return s.single(fd, v, s.twice)
}

func (s spelling) single(fd protoreflect.FieldDescriptor, v protoreflect.Value, twice bool) [][]byte {
	switch fd.Kind() {
	case protoreflect.MessageKind:
		if rows := fd.Message().FullName() == "milvus.proto.schema.ScalarField" && fd.ContainingMessage().Name() == "ArrayArray"; rows {
			b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(v.Message().Interface()) // a value: its bytes are kept as they are
			return [][]byte{bytesField(fd, b)}
		}
		if !twice {
			return [][]byte{bytesField(fd, s.marshal(v.Message()))}
		}
		one, two := halves(v.Message())
		return [][]byte{bytesField(fd, s.marshal(one)), bytesField(fd, s.marshal(two))}
	case protoreflect.StringKind:
		return [][]byte{bytesField(fd, []byte(v.String()))}
	case protoreflect.BytesKind:
		return [][]byte{bytesField(fd, v.Bytes())}
	}
	b := protowire.AppendTag(nil, fd.Number(), wireType(fd))
	return [][]byte{appendNumber(b, fd, v)}
}

func (s spelling) numbers(fd protoreflect.FieldDescriptor, l protoreflect.List) [][]byte {
	var out [][]byte
	for i := 0; i < l.Len(); {
		if s.piece == 0 {
			out = append(out, appendNumber(protowire.AppendTag(nil, fd.Number(), wireType(fd)), fd, l.Get(i)))
			i++
			continue
		}
		var body []byte
		for end := min(l.Len(), i+s.piece); i < end; i++ {
			body = appendNumber(body, fd, l.Get(i))
		}
		out = append(out, bytesField(fd, body))
	}
	return out
}

// halves divides a message's fields, and the elements of its lists, in two.
func halves(m protoreflect.Message) (one, two protoreflect.Message) {
	one, two = m.New(), m.New()
	n := 0
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if fd.IsList() {
			for i := range v.List().Len() {
				half := one
				if i >= v.List().Len()/2 {
					half = two
				}
				half.Mutable(fd).List().Append(v.List().Get(i))
			}
			return true
		}
		if n++; n%2 == 0 {
			one.Set(fd, v)
		} else {
			two.Set(fd, v)
		}
		return true
	})
	return one, two
}

func bytesField(fd protoreflect.FieldDescriptor, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, fd.Number(), protowire.BytesType), b)
}

func wireType(fd protoreflect.FieldDescriptor) protowire.Type {
	switch fd.Kind() {
	case protoreflect.FloatKind:
		return protowire.Fixed32Type
	case protoreflect.DoubleKind:
		return protowire.Fixed64Type
	}
	return protowire.VarintType
}

func appendNumber(b []byte, fd protoreflect.FieldDescriptor, v protoreflect.Value) []byte {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protowire.AppendVarint(b, protowire.EncodeBool(v.Bool()))
	case protoreflect.EnumKind:
		return protowire.AppendVarint(b, uint64(v.Enum()))
	case protoreflect.Uint64Kind:
		return protowire.AppendVarint(b, v.Uint())
	case protoreflect.FloatKind:
		return append(b, fixed([]float32{float32(v.Float())})...)
	case protoreflect.DoubleKind:
		return append(b, fixed([]float64{v.Float()})...)
	}
	return protowire.AppendVarint(b, uint64(v.Int()))
}
