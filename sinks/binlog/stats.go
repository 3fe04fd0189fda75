package binlog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// maxBound is the length from which strings are no bounds any more; a cut
// one would have to be marked as inexact, which old readers do not know.
const maxBound = 64

// bounds are a column's smallest and largest value, as Parquet orders them.
// Zero means none: vectors, blobs, columns without a value.
type bounds struct {
	nulls    int64
	seen     bool
	lo, hi   int64
	flo, fhi float64
	slo, shi []byte // views into the pages
}

// add takes a page's n values. It also checks that they are what the type
// says, since readers trust the count.
func (s *bounds) add(l leaf, width int, data []byte, n int) error {
	if l.physical == parquetByteArray {
		return s.strings(l, data, n)
	}
	if len(data) != n*width {
		return fmt.Errorf("%w: %d bytes for %d values of %d", ErrCorrupt, len(data), n, width)
	}
	switch l.physical {
	case parquetInt32:
		for ; len(data) > 0; data = data[4:] {
			s.integer(int64(int32(binary.LittleEndian.Uint32(data))))
		}
	case parquetInt64:
		for ; len(data) > 0; data = data[8:] {
			s.integer(int64(binary.LittleEndian.Uint64(data)))
		}
	case parquetFloat:
		for ; len(data) > 0; data = data[4:] {
			s.float(float64(math.Float32frombits(binary.LittleEndian.Uint32(data))))
		}
	case parquetDouble:
		for ; len(data) > 0; data = data[8:] {
			s.float(math.Float64frombits(binary.LittleEndian.Uint64(data)))
		}
	}
	return nil
}

func (s *bounds) integer(v int64) {
	if !s.seen {
		s.lo, s.hi, s.seen = v, v, true
	}
	s.lo, s.hi = min(s.lo, v), max(s.hi, v)
}

// float leaves NaN out: it has no place in the order.
func (s *bounds) float(v float64) {
	if v != v {
		return
	}
	if !s.seen {
		s.flo, s.fhi, s.seen = v, v, true
	}
	s.flo, s.fhi = min(s.flo, v), max(s.fhi, v)
}

func (s *bounds) strings(l leaf, data []byte, n int) error {
	for ; len(data) > 0; n-- {
		if len(data) < 4 {
			return fmt.Errorf("%w: value without a length", ErrCorrupt)
		}
		size := uint64(binary.LittleEndian.Uint32(data))
		if size > uint64(len(data)-4) {
			return fmt.Errorf("%w: value of %d bytes in %d", ErrCorrupt, size, len(data)-4)
		}
		if v := data[4 : 4+size]; l.ordered {
			if !s.seen {
				s.slo, s.shi, s.seen = v, v, true
			} else if bytes.Compare(v, s.slo) < 0 {
				s.slo = v
			} else if bytes.Compare(v, s.shi) > 0 {
				s.shi = v
			}
		}
		data = data[4+size:]
	}
	if n != 0 {
		return fmt.Errorf("%w: number of values is off by %d", ErrCorrupt, n)
	}
	return nil
}

// encoded returns the bounds in PLAIN layout, nil if there are none.
func (s *bounds) encoded(l leaf) (lo, hi []byte) {
	if !s.seen || !l.ordered {
		return nil, nil
	}
	le := binary.LittleEndian
	switch l.physical {
	case parquetInt32:
		return le.AppendUint32(nil, uint32(s.lo)), le.AppendUint32(nil, uint32(s.hi))
	case parquetInt64:
		return le.AppendUint64(nil, uint64(s.lo)), le.AppendUint64(nil, uint64(s.hi))
	case parquetByteArray:
		if len(s.slo) > maxBound || len(s.shi) > maxBound {
			return nil, nil
		}
		return s.slo, s.shi
	}
	// Zero compares equal with either sign, so the bounds must include both.
	flo, fhi := s.flo, s.fhi
	if flo == 0 {
		flo = math.Copysign(0, -1)
	}
	if fhi == 0 {
		fhi = 0
	}
	if l.physical == parquetFloat {
		return le.AppendUint32(nil, math.Float32bits(float32(flo))), le.AppendUint32(nil, math.Float32bits(float32(fhi)))
	}
	return le.AppendUint64(nil, math.Float64bits(flo)), le.AppendUint64(nil, math.Float64bits(fhi))
}
