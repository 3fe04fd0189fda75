package binlog

import (
	"encoding/binary"
	"fmt"

	"flowgraph/stages/column"
)

// appendLevels appends a page's definition levels (1: there is a value) as
// Parquet wants them in a V1 page: a 4-byte length, then runs of RLE. Only
// RLE runs are used; nulls come in runs where they come at all, and zstd
// takes the rest.
func appendLevels(dst []byte, p *column.Page) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	if p.Valid == nil {
		dst = appendRun(dst, p.Rows, true)
	}
	for row := 0; row < len(p.Valid); {
		end := row + 1
		for end < len(p.Valid) && p.Valid[end] == p.Valid[row] {
			end++
		}
		dst = appendRun(dst, end-row, p.Valid[row])
		row = end
	}
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

func appendRun(dst []byte, n int, level bool) []byte {
	if n == 0 {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(n)<<1)
	if level {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// values counts a page's values that are not null.
func values(p *column.Page) (int, error) {
	if p.Valid == nil {
		return p.Rows, nil
	}
	if len(p.Valid) != p.Rows {
		return 0, fmt.Errorf("%w: %d marks for %d rows", ErrCorrupt, len(p.Valid), p.Rows)
	}
	n := 0
	for _, ok := range p.Valid {
		if ok {
			n++
		}
	}
	return n, nil
}

// appendBits packs a byte a row into a bit a row, least significant first.
func appendBits(dst, bools []byte) []byte {
	for len(bools) > 0 {
		n := min(8, len(bools))
		var b byte
		for i, v := range bools[:n] {
			if v != 0 {
				b |= 1 << i
			}
		}
		dst, bools = append(dst, b), bools[n:]
	}
	return dst
}
