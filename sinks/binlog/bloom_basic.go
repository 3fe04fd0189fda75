package binlog

import (
	"encoding/base64"
	"encoding/binary"
	"strconv"

	"github.com/bits-and-blooms/bloom/v3"
)

// basicFilter spreads the bits of a key over the whole filter.
type basicFilter struct{ *bloom.BloomFilter }

func newBasic(keys int, rate float64) basicFilter {
	return basicFilter{bloom.NewWithEstimates(uint(max(1, keys)), rate)}
}

func (f basicFilter) add(key []byte) { f.Add(key) }

func (f basicFilter) has(key []byte) bool { return f.Test(key) }

func (f basicFilter) hashes() int { return int(f.K()) }

func (f basicFilter) bits() int64 { return int64(f.Cap()) }

// write renders the words big-endian behind their number of bits, as the
// library does, whose own JSON walks through reflection and copies four times.
func (f basicFilter) write(g *gather, w *workspace) {
	out := append(w.plain[:0], `{"m":`...)
	out = strconv.AppendUint(out, uint64(f.Cap()), 10)
	out = append(out, `,"k":`...)
	out = strconv.AppendUint(out, uint64(f.K()), 10)
	g.write(append(out, `,"b":"`...))
	const batch = 3 << 10 // words rendered at a time; base64 goes on without padding at a multiple of three
	raw := binary.BigEndian.AppendUint64(out[:0], uint64(f.Cap()))
	left := batch - 1
	for _, word := range f.BitSet().Words() {
		raw = binary.BigEndian.AppendUint64(raw, word)
		if left--; left == 0 {
			w.compressed = base64.URLEncoding.AppendEncode(w.compressed[:0], raw)
			g.write(w.compressed)
			raw, left = raw[:0], batch
		}
	}
	w.compressed = base64.URLEncoding.AppendEncode(w.compressed[:0], raw)
	g.write(append(w.compressed, `"}`...))
	w.plain = raw
}
