package archive

import "google.golang.org/protobuf/encoding/protowire"

// assigned is the segment that an insert's header gives to the body's
// partition.
func assigned(header, body []byte) (int64, error) {
	insert, err := messageOf(body)
	if err != nil {
		return 0, err
	}
	h, err := messageOf(header)
	if err != nil {
		return 0, err
	}
	for _, raw := range h.parts[2] {
		partition, err := messageOf(raw)
		if err != nil || partition.number(1) != insert.number(8) {
			continue
		}
		a, err := messageOf(partition.last(4))
		return int64(a.number(1)), err
	}
	return 0, nil
}

// fields are a message's fields by number, of a type that is not among those
// that Milvus publishes.
type fields struct {
	numbers map[protowire.Number]uint64
	parts   map[protowire.Number][][]byte
}

func (f fields) number(n protowire.Number) uint64 { return f.numbers[n] }

func (f fields) last(n protowire.Number) []byte {
	if p := f.parts[n]; len(p) > 0 {
		return p[len(p)-1]
	}
	return nil
}

func messageOf(b []byte) (fields, error) {
	f := fields{map[protowire.Number]uint64{}, map[protowire.Number][][]byte{}}
	for len(b) > 0 {
		num, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return f, protowire.ParseError(n)
		}
		b = b[n:]
		switch kind {
		case protowire.VarintType:
			f.numbers[num], n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			var v []byte
			v, n = protowire.ConsumeBytes(b)
			f.parts[num] = append(f.parts[num], v)
		default:
			n = protowire.ConsumeFieldValue(num, kind, b)
		}
		if n < 0 {
			return f, protowire.ParseError(n)
		}
		b = b[n:]
	}
	return f, nil
}
