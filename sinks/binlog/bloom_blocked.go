package binlog

import (
	"encoding/base64"
	"math"
	"strconv"

	"github.com/zeebo/xxh3"
)

const (
	blockBytes = 64
	blockBits  = 8 * blockBytes
	// bitsPerKey is what blocks of 512 bits need for one false positive in a
	// thousand: Putze, Sanders and Singler, Cache-, Hash- and Space-Efficient
	// Bloom Filters, table I.
	bitsPerKey = 17
)

// blockedFilter keeps all bits of a key in one block, a cache line. Bit i of
// a block is bit i%8 of byte i/8, which is the order of Milvus' sixteen
// little-endian words.
type blockedFilter struct {
	k      int    // one more than the bits of a key
	blocks []byte // blockBytes each
}

// newBlocked makes a filter in mem if that is large enough.
func newBlocked(keys int, mem []byte) *blockedFilter {
	blocks, k := blockedSize(keys)
	size := blocks * blockBytes
	if cap(mem) < size {
		mem = make([]byte, size)
	}
	mem = mem[:size]
	clear(mem)
	return &blockedFilter{k: k, blocks: mem}
}

// blockedSize is Milvus' size of a filter. Of the two numbers of hashes next
// to the best one its library takes the one with more false positives; so
// does this, since equal keys are to give equal bytes and the difference is
// small.
func blockedSize(keys int) (blocks, k int) {
	n := float64(max(1, keys))
	blocks = (int(bitsPerKey*n) + blockBits - 1) / blockBits
	c := float64(blocks*blockBits) / n
	best := c * math.Ln2
	lower, upper := math.Floor(best), math.Ceil(best)
	if blockedRate(c, lower) < blockedRate(c, upper) {
		return blocks, int(upper)
	}
	return blocks, int(lower)
}

// blockedRate is the rate of false positives at c bits a key with k hashes:
// keys fall into blocks as Poisson says (equation 3 of the paper).
func blockedRate(c, k float64) (rate float64) {
	mean := blockBits / c
	p := math.Exp(-mean)
	for j := 1.0; j < 4*mean+64; j++ {
		p *= mean / j
		rate += p * math.Pow(-math.Expm1(-k*j/blockBits), k)
	}
	return rate
}

// block returns the key's block and the two numbers that walk through it.
func (f *blockedFilter) block(key []byte) (b *[blockBytes]byte, h1, h2 uint32) {
	h := xxh3.Hash(key)
	h1, h2 = uint32(h>>32), uint32(h)
	at := uint64(h2) * uint64(len(f.blocks)/blockBytes) >> 32 * blockBytes
	return (*[blockBytes]byte)(f.blocks[at:]), h1, h2
}

func (f *blockedFilter) add(key []byte) {
	b, h1, h2 := f.block(key)
	for i := uint32(1); i < uint32(f.k); i++ {
		h1 += h2
		h2 += i
		b[h1/8%blockBytes] |= 1 << (h1 % 8)
	}
}

func (f *blockedFilter) has(key []byte) bool {
	b, h1, h2 := f.block(key)
	for i := uint32(1); i < uint32(f.k); i++ {
		h1 += h2
		h2 += i
		if b[h1/8%blockBytes]&(1<<(h1%8)) == 0 {
			return false
		}
	}
	return true
}

func (f *blockedFilter) hashes() int { return f.k }

func (f *blockedFilter) bits() int64 { return int64(len(f.blocks)) * 8 }

func (f *blockedFilter) write(g *gather, w *workspace) {
	const batch = 256 // blocks rendered at a time
	out := append(w.plain[:0], `{"k":`...)
	out = strconv.AppendInt(out, int64(f.k), 10)
	out = append(out, `,"b":[`...)
	for at := 0; at < len(f.blocks); at += blockBytes {
		if at > 0 {
			out = append(out, ',')
		}
		out = append(out, '"')
		out = base64.URLEncoding.AppendEncode(out, f.blocks[at:at+blockBytes])
		out = append(out, '"')
		if at%(batch*blockBytes) == 0 {
			g.write(out)
			out = out[:0]
		}
	}
	g.write(append(out, "]}"...))
	w.plain = out
}
