// Package wire walks Milvus messages on the protobuf wire and leaves columns
// as views into the record: no message objects, no allocation per value.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Header is one Kafka record header.
type Header struct {
	Key   string
	Value []byte
}

// ErrMalformed is the error of every value that is not a well-formed message.
var ErrMalformed = errors.New("malformed message")

// Base is what every message carries in field 1.
type Base struct {
	Type      int32 // commonpb.MsgType
	MsgID     int64
	Timestamp uint64 // hybrid; 0 in the insert of an upsert, so never a row's time
}

// ParseBase reads the base of any message and hops over everything else.
func ParseBase(value []byte) (Base, error) {
	var base Base
	for b := value; len(b) > 0; {
		num, v, n, err := next(b)
		if err != nil {
			return Base{}, err
		}
		b = b[n:]
		if num == 1 {
			if err := base.merge(v); err != nil {
				return Base{}, err
			}
		}
	}
	return base, nil
}

// PeekType is the message type that the first field says, which is the base
// in every message that a Milvus writes; 0 if it says none.
func PeekType(value []byte) int32 {
	num, v, _, err := next(value)
	if err != nil || num != 1 {
		return 0
	}
	var base Base
	if base.merge(v) != nil {
		return 0
	}
	return base.Type
}

// merge reads a base, or one more piece of it.
func (m *Base) merge(v field) error {
	for b := v.bytes; len(b) > 0; {
		num, v, n, err := next(b)
		if err != nil {
			return err
		}
		b = b[n:]
		switch num {
		case 1:
			v.int32(&m.Type)
		case 2:
			v.int64(&m.MsgID)
		case 3:
			v.uint64(&m.Timestamp)
		}
	}
	return nil
}

// field is one decoded field: num for numbers, bytes for everything with a
// length. One that comes with another wire type than its own is unknown, as
// it is to every reader of protobuf: the methods leave out what does not fit.
type field struct {
	typ   protowire.Type
	num   uint64
	bytes []byte
}

func (v field) int32(dst *int32) {
	if v.typ == protowire.VarintType {
		*dst = int32(v.num)
	}
}

func (v field) int64(dst *int64) {
	if v.typ == protowire.VarintType {
		*dst = int64(v.num)
	}
}

func (v field) uint64(dst *uint64) {
	if v.typ == protowire.VarintType {
		*dst = v.num
	}
}

func (v field) text(dst *[]byte) {
	if v.typ == protowire.BytesType {
		*dst = v.bytes
	}
}

// next decodes one field and says how many bytes it took. Nearly all of them
// have a tag of one byte and a well-formed number or length behind it.
func next(b []byte) (protowire.Number, field, int, error) {
	if len(b) > 1 && b[0] >= 1<<3 && b[0] < 0x80 {
		num, v, n := protowire.Number(b[0]>>3), uint64(b[1]), 1
		if v >= 0x80 {
			v, n = binary.Uvarint(b[1:])
		}
		switch rest := len(b) - 1 - n; {
		case n <= 0:
		case b[0]&7 == byte(protowire.VarintType):
			return num, field{typ: protowire.VarintType, num: v}, 1 + n, nil
		case b[0]&7 == byte(protowire.BytesType) && v <= uint64(rest):
			return num, field{typ: protowire.BytesType, bytes: b[1+n : 1+n+int(v)]}, 1 + n + int(v), nil
		}
	}
	return nextOfAny(b)
}

// nextOfAny decodes fields of every kind, and says what is wrong with one.
func nextOfAny(b []byte) (protowire.Number, field, int, error) {
	num, typ, n := protowire.ConsumeTag(b)
	if n < 0 {
		return 0, field{}, 0, fmt.Errorf("%w: %w", ErrMalformed, protowire.ParseError(n))
	}
	v, m := field{typ: typ}, 0
	switch typ {
	case protowire.VarintType:
		v.num, m = protowire.ConsumeVarint(b[n:])
	case protowire.BytesType:
		v.bytes, m = protowire.ConsumeBytes(b[n:])
	case protowire.Fixed32Type:
		var x uint32
		x, m = protowire.ConsumeFixed32(b[n:])
		v.num = uint64(x)
	case protowire.Fixed64Type:
		v.num, m = protowire.ConsumeFixed64(b[n:])
	default: // groups are long gone from every format read here
		m = protowire.ConsumeFieldValue(num, typ, b[n:])
	}
	if m < 0 {
		return 0, field{}, 0, fmt.Errorf("%w: field %d: %w", ErrMalformed, num, protowire.ParseError(m))
	}
	return num, v, n + m, nil
}

// packed collects a repeated number: one view if the sender packed it in one
// piece, as all do, else a copy of the pieces.
type packed struct{ data []byte }

// add takes a piece: packed numbers, or a single one of the wire type elem.
func (p *packed) add(v field, elem protowire.Type) {
	switch {
	case v.typ == protowire.BytesType && p.data == nil:
		p.data = view(v.bytes)
	case v.typ == protowire.BytesType:
		p.data = append(p.data, v.bytes...)
	case v.typ != elem:
	case elem == protowire.Fixed32Type:
		p.data = protowire.AppendFixed32(p.data, uint32(v.num))
	case elem == protowire.Fixed64Type:
		p.data = protowire.AppendFixed64(p.data, v.num)
	default:
		p.data = protowire.AppendVarint(p.data, v.num)
	}
}

// view keeps whoever appends to a part of the record from writing into it.
func view(b []byte) []byte { return b[:len(b):len(b)] }

// arm is the member of a oneof that counts, which is the last one. Several
// pieces of one message are one message, so their bodies follow each other.
type arm struct {
	num  protowire.Number
	body []byte
}

func (a *arm) add(num protowire.Number, v field) {
	switch {
	case v.typ != protowire.BytesType:
	case a.num == num:
		a.body = append(a.body, v.bytes...)
	default:
		a.num, a.body = num, view(v.bytes)
	}
}
