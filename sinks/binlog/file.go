package binlog

import (
	"fmt"
	"hash/crc32"
	"math"
)

// Sizes of the pooled buffers that hold what is not borrowed from a column.
// The first of a file is small, because most fields of a small flush fit.
const (
	smallChunk = 4 << 10
	largeChunk = 128 << 10
	// borrowFrom is the size from which raw pages are referenced; smaller ones
	// are copied, so that a small file is one part.
	borrowFrom = 16 << 10
)

// File is an encoded binlog, ready to be put.
type File struct {
	// Parts are the object's bytes in order. Big pages that are stored raw are
	// views of the column's pages.
	Parts  [][]byte
	Size   int64
	CRC32C uint32 // Castagnoli, over all parts
	Rows   int
	// Original is the length of the values in memory, the memory_size of the
	// log's entry.
	Original int64
	// Borrowed: Parts hold views of the column, which must be kept until the
	// file is put. Otherwise the column may be freed at once.
	Borrowed bool

	encoder *Encoder
	small   *[smallChunk]byte
	large   []*[largeChunk]byte
}

// Held is the memory that the file keeps besides what it borrows, in bytes.
func (f *File) Held() int64 {
	n := int64(len(f.large)) * largeChunk
	if f.small != nil {
		n += smallChunk
	}
	return n
}

// Free gives the buffers back. Nobody may hold a view of Parts any more. A
// second call does nothing.
func (f *File) Free() {
	if f.small != nil {
		f.encoder.small.Put(f.small)
	}
	for _, c := range f.large {
		f.encoder.large.Put(c)
	}
	f.Parts, f.small, f.large = nil, nil, nil
}

// gather collects a file's bytes in pooled chunks and borrowed pages.
type gather struct {
	file  *File
	chunk []byte // the chunk being filled: what is written of it
	start int    // of the chunk's bytes that are in no part yet
}

func newGather(e *Encoder) *gather {
	small, ok := e.small.Get().(*[smallChunk]byte)
	if !ok {
		small = new([smallChunk]byte)
	}
	return &gather{file: &File{encoder: e, small: small}, chunk: small[:0]}
}

// write copies b.
func (g *gather) write(b []byte) {
	g.file.Size += int64(len(b))
	for len(b) > 0 {
		if len(g.chunk) == cap(g.chunk) {
			g.close()
			large, ok := g.file.encoder.large.Get().(*[largeChunk]byte)
			if !ok {
				large = new([largeChunk]byte)
			}
			g.file.large = append(g.file.large, large)
			g.chunk, g.start = large[:0], 0
		}
		n := min(len(b), cap(g.chunk)-len(g.chunk))
		g.chunk = append(g.chunk, b[:n]...)
		b = b[n:]
	}
}

// borrow makes b itself a part; it must not change until the file is freed.
func (g *gather) borrow(b []byte) {
	if len(b) < borrowFrom {
		g.write(b)
		return
	}
	g.close()
	g.file.Parts = append(g.file.Parts, b)
	g.file.Size += int64(len(b))
	g.file.Borrowed = true
}

// close makes what was copied since the last part a part.
func (g *gather) close() {
	if g.start < len(g.chunk) {
		g.file.Parts = append(g.file.Parts, g.chunk[g.start:])
		g.start = len(g.chunk)
	}
}

// finish fills in the lengths that the head left open and sums the parts up.
func (g *gather) finish(head head) (*File, error) {
	if size := g.file.Size; size <= math.MaxInt32 {
		head.patch(g.file.small[:], size)
	}
	return g.sum()
}

// sum ends the file.
func (g *gather) sum() (*File, error) {
	g.close()
	f := g.file
	if f.Size > math.MaxInt32 {
		f.Free()
		return nil, fmt.Errorf("%w: %d bytes", ErrTooLarge, f.Size)
	}
	table := crc32.MakeTable(crc32.Castagnoli)
	for _, p := range f.Parts {
		f.CRC32C = crc32.Update(f.CRC32C, table, p)
	}
	return f, nil
}
