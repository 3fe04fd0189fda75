// Package varint reads protobuf's variable-length numbers a word at a time
// instead of a byte at a time: the IDs and timestamps of Milvus take nine
// bytes each, and a row has half a dozen of them.
package varint

import (
	"encoding/binary"
	"math/bits"
)

// more marks the bytes of a word behind which a number goes on.
const more = 0x8080808080808080

// Read decodes the number at the beginning of b and says how many bytes it
// took, as binary.Uvarint does: n is 0 if b is too short, negative if the
// number has more than 64 bits.
func Read(b []byte) (v uint64, n int) {
	if len(b) < 9 {
		return binary.Uvarint(b)
	}
	word := binary.LittleEndian.Uint64(b)
	if ends := ^word & more; ends != 0 {
		word &= ends ^ (ends - 1) // up to the first byte that ends a number
		return join(word), bits.TrailingZeros64(ends)>>3 + 1
	}
	if b[8] < 0x80 {
		return join(word) | uint64(b[8])<<56, 9
	}
	return binary.Uvarint(b)
}

// join puts the seven bits of each of eight bytes side by side.
func join(w uint64) uint64 {
	w = w&0x007f007f007f007f | w&0x7f007f007f007f00>>1
	w = w&0x00003fff00003fff | w&0x3fff00003fff0000>>2
	return w&0x000000000fffffff | w&0x0fffffff00000000>>4
}

// Count is how many numbers packed holds; whole is false if one is cut short
// or longer than 64 bits, so that Read would refuse it.
func Count(packed []byte) (n int, whole bool) {
	for len(packed) >= 9 {
		switch word := binary.LittleEndian.Uint64(packed); {
		case word&more == more && packed[8] < 0x80:
			n, packed = n+1, packed[9:]
		case word&more == 0:
			n, packed = n+8, packed[8:]
		default:
			_, size := Read(packed)
			if size <= 0 {
				return n, false
			}
			n, packed = n+1, packed[size:]
		}
	}
	for len(packed) > 0 {
		_, size := binary.Uvarint(packed)
		if size <= 0 {
			return n, false
		}
		n, packed = n+1, packed[size:]
	}
	return n, true
}
