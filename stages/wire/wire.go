// Package wire walks Milvus messages on the protobuf wire and leaves columns
// as views into the record: no message objects, no allocation per value.
package wire

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"google.golang.org/protobuf/encoding/protowire"

	"flowgraph/stages/varint"
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

// Open reads the base if it is the first field, as in every message that a
// Milvus writes, and returns what follows it. The base is empty and rest all
// of the value if the first field is another one or cannot be read.
func Open(value []byte) (base Base, rest []byte) {
	num, v, n, err := next(value)
	if err != nil || num != 1 {
		return Base{}, value
	}
	if base.merge(v) != nil {
		return Base{}, value
	}
	return base, value[n:]
}

// merge reads a base, or one more piece of it.
func (m *Base) merge(v field) error {
	for b := v.bytes; len(b) > 0; {
		x, n := head(b)
		switch {
		case n > 0 && b[0] == 1<<3|number:
			m.Type = int32(x)
		case n > 0 && b[0] == 2<<3|number:
			m.MsgID = int64(x)
		case n > 0 && b[0] == 3<<3|number:
			m.Timestamp = x
		default:
			num, v, size, err := next(b)
			if err != nil {
				return err
			}
			n = size
			m.set(num, v)
		}
		b = b[n:]
	}
	return nil
}

func (m *Base) set(num protowire.Number, v field) {
	switch num {
	case 1:
		v.int32(&m.Type)
	case 2:
		v.int64(&m.MsgID)
	case 3:
		v.uint64(&m.Timestamp)
	}
}

// Wire types as they stand in a tag of one byte.
const (
	number = byte(protowire.VarintType)
	piece  = byte(protowire.BytesType)
)

// head reads the beginning of a field as nearly all of them are: a tag of one
// byte, then a number, or the length of what follows and is all there. x is
// that number or length and n where the field's value ends or its bytes
// begin; n is 0 for every other field, which is left to next.
func head(b []byte) (x uint64, n int) {
	if len(b) < 2 || b[0] < 1<<3 || b[0] >= 0x80 {
		return 0, 0
	}
	if x, n = uint64(b[1]), 1; x >= 0x80 {
		if x, n = varint.Read(b[1:]); n <= 0 {
			return 0, 0
		}
	}
	if kind := b[0] & 7; kind == number || kind == piece && x <= uint64(len(b)-1-n) {
		return x, 1 + n
	}
	return 0, 0
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

// next decodes one field and says how many bytes it took.
func next(b []byte) (protowire.Number, field, int, error) {
	x, n := head(b)
	switch {
	case n == 0:
		return nextOfAny(b)
	case b[0]&7 == number:
		return protowire.Number(b[0] >> 3), field{typ: protowire.VarintType, num: x}, n, nil
	}
	end := n + int(x)
	return protowire.Number(b[0] >> 3), field{typ: protowire.BytesType, bytes: b[n:end]}, end, nil
}

// nextOfAny decodes fields of every kind, and says what is wrong with one.
func nextOfAny(b []byte) (protowire.Number, field, int, error) {
	num, typ, n := protowire.ConsumeTag(b)
	if n < 0 {
		return 0, field{}, 0, fmt.Errorf("%w: %s", ErrMalformed, fault(n))
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
		return 0, field{}, 0, fmt.Errorf("%w: field %d: %s", ErrMalformed, num, fault(m))
	}
	return num, v, n + m, nil
}

// fault says in plain words what the parser's code, a negative length, means:
// its own text begins with its name and a space that logs show as \u00a0.
func fault(code int) string {
	err := protowire.ParseError(code)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "it is cut short"
	}
	return strings.TrimLeftFunc(strings.TrimPrefix(err.Error(), "proto:"), unicode.IsSpace)
}

// packed collects a repeated number: one view if the sender packed it in one
// piece, as all do, else a copy of the pieces.
type packed struct{ data []byte }

// add takes a piece: packed numbers, or a single one of the wire type elem.
func (p *packed) add(v field, elem protowire.Type) {
	switch {
	case v.typ == protowire.BytesType:
		p.addPiece(v.bytes)
	case v.typ != elem:
	case elem == protowire.Fixed32Type:
		p.data = protowire.AppendFixed32(p.data, uint32(v.num))
	case elem == protowire.Fixed64Type:
		p.data = protowire.AppendFixed64(p.data, v.num)
	default:
		p.data = protowire.AppendVarint(p.data, v.num)
	}
}

// addPiece takes packed numbers.
func (p *packed) addPiece(b []byte) {
	if p.data == nil {
		p.data = view(b)
	} else {
		p.data = append(p.data, b...)
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
