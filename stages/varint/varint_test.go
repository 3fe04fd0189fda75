package varint

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"
)

// numbers are some of every length.
func numbers() []uint64 {
	out := []uint64{0, 1, math.MaxUint64, math.MaxInt64, 1 << 63}
	for shift := range 64 {
		out = append(out, 1<<shift, 1<<shift-1, 0xaaaaaaaaaaaaaaaa>>shift)
	}
	return out
}

// A number read wrongly is a row with another key, or the rows of a message
// counted wrongly.
func TestNumbersOfEveryLengthAreReadWhatComesBehindThem(t *testing.T) {
	for _, v := range numbers() {
		for behind := range 12 {
			b := append(binary.AppendUvarint(nil, v), bytes.Repeat([]byte{0xff}, behind)...)
			size := len(b) - behind
			if got, n := Read(b); got != v || n != size {
				t.Fatalf("%#x with %d bytes behind: %#x of %d bytes", v, behind, got, n)
			}
			for cut := range size {
				if _, n := Read(b[:cut]); n != 0 {
					t.Fatalf("%#x cut to %d bytes: %d", v, cut, n)
				}
			}
		}
	}
}

func TestNumbersAreCountedUpToTheFirstBadOne(t *testing.T) {
	var packed []byte
	for i, v := range numbers() {
		if n, whole := Count(packed); n != i || !whole {
			t.Fatalf("%d, %t for %d numbers", n, whole, i)
		}
		for _, bad := range [][]byte{{0x80}, bytes.Repeat([]byte{0x80}, 9), append(bytes.Repeat([]byte{0xff}, 9), 2), bytes.Repeat([]byte{0xff}, 11)} {
			if n, whole := Count(append(bytes.Clone(packed), bad...)); n != i || whole {
				t.Fatalf("%d, %t for %d numbers and a bad one", n, whole, i)
			}
		}
		packed = binary.AppendUvarint(packed, v)
	}
}

func FuzzReadIsUvarint(f *testing.F) {
	for _, v := range numbers() {
		f.Add(binary.AppendUvarint(nil, v))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, n := Read(b)
		want, size := binary.Uvarint(b)
		if v != want || n != size {
			t.Fatalf("%x: %d of %d bytes, want %d of %d", b, v, n, want, size)
		}
		count, whole := 0, true
		for rest := b; len(rest) > 0; count++ {
			_, n := binary.Uvarint(rest)
			if whole = n > 0; !whole {
				break
			}
			rest = rest[n:]
		}
		if n, w := Count(b); n != count || w != whole {
			t.Fatalf("%x: counted %d, %t, want %d, %t", b, n, w, count, whole)
		}
	})
}
