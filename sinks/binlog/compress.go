package binlog

import (
	"github.com/klauspost/compress/zstd"

	"flowgraph/stages/column"
)

// worthwhile is the share of its size down to which a column must shrink to be
// compressed. Measured on 64 MiB against a memcpy of 24 GB/s: gaussian float
// vectors stored raw 12 GB/s; with their literals entropy-coded, as arrow does
// at zstd 3, 0.94 GB/s for 8 % less. Vectors of small integers shrink to 27 %
// at 0.3 GB/s. So raw unless a tenth is saved.
const worthwhile = 0.90

const (
	probes    = 3        // pages of which a piece is tried
	probeSize = 32 << 10 // bytes of it
)

// newZstd uses the fastest level: on row IDs, random and repeated strings,
// integer vectors and rendered deletes it gives 0.97 to 1.12 of the default
// level's size at up to twice its speed. Pages are no larger than the window.
func newZstd() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(column.MaxPage), zstd.WithZeroFrames(true), zstd.WithEncoderCRC(false))
}

// chooseCodec tries pieces of the first, middle and last page: the codec is
// the column's, and a vector column that does not shrink is stored as it is,
// without being copied. What was tried last is left in the workspace: of a
// small column it is all.
func chooseCodec(w *workspace, c *column.Column) int32 {
	if len(c.Pages) == 0 {
		return codecRaw
	}
	before, after := 0, 0
	n := min(probes, len(c.Pages))
	for i := range n {
		page := c.Pages[i*(len(c.Pages)-1)/max(1, n-1)].Data
		page = page[:min(len(page), probeSize)]
		w.compressed, w.tried = w.zstd.EncodeAll(page, w.compressed[:0]), page
		before, after = before+len(page), after+len(w.compressed)
	}
	if float64(after) > worthwhile*float64(before) {
		return codecRaw
	}
	return codecZstd
}

// compress leaves the compressed bytes in the workspace. Of a page of a column
// they may be there already; the workspace's own buffers are never taken for
// one, since they hold something else each time.
func (w *workspace) compress(raw []byte) {
	if len(raw) == 0 || len(raw) != len(w.tried) || &raw[0] != &w.tried[0] {
		w.compressed = w.zstd.EncodeAll(raw, w.compressed[:0])
	}
	w.tried = nil
}
