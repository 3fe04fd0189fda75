// Package wire walks Milvus messages on the protobuf wire and leaves columns
// as views into the record: no message objects, no allocation per value.
package wire

import (
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

// ParseBase reads the base of any message and nothing behind it.
func ParseBase(value []byte) (Base, error) {
	for b := value; len(b) > 0; {
		num, v, n, err := next(b)
		if err != nil {
			return Base{}, err
		}
		if num == 1 {
			return parseBase(v)
		}
		b = b[n:]
	}
	return Base{}, nil
}

func parseBase(v field) (Base, error) {
	if v.typ != protowire.BytesType {
		return Base{}, fmt.Errorf("%w: base is not a message", ErrMalformed)
	}
	var base Base
	for b := v.bytes; len(b) > 0; {
		num, v, n, err := next(b)
		if err != nil {
			return Base{}, err
		}
		switch num {
		case 1:
			base.Type = int32(v.num)
		case 2:
			base.MsgID = int64(v.num)
		case 3:
			base.Timestamp = v.num
		}
		b = b[n:]
	}
	return base, nil
}

// field is one decoded field: num for numbers, bytes for everything with a
// length.
type field struct {
	typ   protowire.Type
	num   uint64
	bytes []byte
}

// next decodes one field and says how many bytes it took.
func next(b []byte) (protowire.Number, field, int, error) {
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

func (p *packed) add(v field) error {
	switch v.typ {
	case protowire.BytesType:
		if p.data == nil {
			p.data = v.bytes[:len(v.bytes):len(v.bytes)]
		} else {
			p.data = append(p.data, v.bytes...)
		}
	case protowire.VarintType:
		p.data = protowire.AppendVarint(p.data[:len(p.data):len(p.data)], v.num)
	case protowire.Fixed32Type:
		p.data = protowire.AppendFixed32(p.data[:len(p.data):len(p.data)], uint32(v.num))
	case protowire.Fixed64Type:
		p.data = protowire.AppendFixed64(p.data[:len(p.data):len(p.data)], v.num)
	default:
		return fmt.Errorf("%w: a repeated number of wire type %d", ErrMalformed, v.typ)
	}
	return nil
}
