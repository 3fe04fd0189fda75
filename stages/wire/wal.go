package wire

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// WAL is what the headers of a streaming WAL record (Milvus 2.6) say.
type WAL struct {
	Version   string
	Type      int    // messagespb.MessageType
	Tick      uint64 // hybrid
	VChannel  string // "" for all of the log
	Header    []byte // the specialised header, serialized
	Encrypted bool
	InTxn     bool
	Txn       int64
	Keepalive int64 // ms; negative: the transaction never expires
}

// Control says whether the record is of the control channel: the coordinators'
// own, in which no rows are.
func (w *WAL) Control() bool { return strings.HasSuffix(w.VChannel, "_vcchan") }

// ParseWAL reads the headers of a record. It returns false if they are not
// those of a WAL record.
func ParseWAL(headers []Header) (WAL, bool, error) {
	var w WAL
	var seen, typed, ticked bool
	for _, h := range headers {
		var err error
		switch value := string(h.Value); h.Key {
		case "_v":
			w.Version, seen = value, true
		case "_t":
			w.Type, err = strconv.Atoi(value)
			typed = true
		case "_tt":
			w.Tick, err = strconv.ParseUint(value, 36, 64)
			ticked = true
		case "_vc":
			w.VChannel = value
		case "_h":
			w.Header, err = base64.StdEncoding.DecodeString(value)
		case "_ch":
			w.Encrypted = true
		case "_tx":
			err = w.transaction(value)
		}
		if err != nil {
			return w, seen, fmt.Errorf("%w: header %s: %w", ErrMalformed, h.Key, err)
		}
	}
	if seen && (!typed || !ticked) {
		return w, true, fmt.Errorf("%w: a WAL record without a type or a time tick", ErrMalformed)
	}
	return w, seen, nil
}

func (w *WAL) transaction(value string) error {
	b, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		return err
	}
	n, err := Numbers(b, 2)
	if err != nil {
		return err
	}
	w.InTxn, w.Txn, w.Keepalive = true, int64(n[0]), int64(n[1])
	return nil
}

// Numbers returns the numeric fields 1 to n of a message, 0 where it has none.
func Numbers(b []byte, n int) ([]uint64, error) {
	out := make([]uint64, n)
	for len(b) > 0 {
		num, v, size, err := next(b)
		if err != nil {
			return nil, err
		}
		if int(num) <= n && v.typ == protowire.VarintType {
			out[num-1] = v.num
		}
		b = b[size:]
	}
	return out, nil
}

// Repeated returns the values of a repeated number.
func Repeated(b []byte, field int) ([]int64, error) {
	var p packed
	for len(b) > 0 {
		num, v, size, err := next(b)
		if err != nil {
			return nil, err
		}
		if int(num) == field {
			p.add(v, protowire.VarintType)
		}
		b = b[size:]
	}
	var out []int64
	for b := p.data; len(b) > 0; {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return nil, fmt.Errorf("%w: %s", ErrMalformed, fault(n))
		}
		out, b = append(out, int64(v)), b[n:]
	}
	return out, nil
}

// Message returns the last message-typed field with a number, nil if there
// is none.
func Message(b []byte, field int) ([]byte, error) {
	var out []byte
	for len(b) > 0 {
		num, v, size, err := next(b)
		if err != nil {
			return nil, err
		}
		if int(num) == field && v.typ == protowire.BytesType {
			out = v.bytes
		}
		b = b[size:]
	}
	return out, nil
}

// AssignedSegment reads the segment that an insert's header assigns to a
// partition, 0 if none: the body's own segment is not final.
func AssignedSegment(header []byte, partition int64) (int64, error) {
	const partitions, assignment = 2, 4
	for b := header; len(b) > 0; {
		num, v, size, err := next(b)
		if err != nil {
			return 0, err
		}
		b = b[size:]
		if num != partitions {
			continue
		}
		n, err := Numbers(v.bytes, 1)
		if err != nil {
			return 0, err
		}
		if int64(n[0]) != partition {
			continue
		}
		a, err := Message(v.bytes, assignment)
		if err != nil {
			return 0, err
		}
		n, err = Numbers(a, 1)
		if err != nil {
			return 0, err
		}
		return int64(n[0]), nil
	}
	return 0, nil
}
