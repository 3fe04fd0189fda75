package binlog

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"flowgraph/stages/column"
)

// Encoder writes binlogs. The zero value is ready; it is safe for concurrent
// use and meant to be shared by all flows of a worker: it only holds pools,
// since a compressor made anew for each page costs eight times the work.
type Encoder struct {
	workspaces   sync.Pool // *workspace
	small, large sync.Pool // chunks of files
}

// workspace is what one Encode needs while it runs.
type workspace struct {
	zstd       *zstd.Encoder
	plain      []byte // a page's bytes, where they are not the column's page
	page       []byte // rendered deletes
	compressed []byte
	tried      []byte // the part of a column's page that compressed holds; nil: none
	filter     []byte // of keys
	thrift     compact
}

func (e *Encoder) workspace() (*workspace, error) {
	if w, ok := e.workspaces.Get().(*workspace); ok {
		return w, nil
	}
	z, err := newZstd()
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	return &workspace{zstd: z}, nil
}

// maxScratch bounds what a workspace keeps after a page of one huge value.
const maxScratch = 4 * column.MaxPage

func (e *Encoder) release(w *workspace) {
	w.tried = nil
	if cap(w.plain) > maxScratch {
		w.plain = nil
	}
	if cap(w.page) > maxScratch {
		w.page = nil
	}
	if cap(w.compressed) > maxScratch {
		w.compressed = nil
	}
	if cap(w.filter) > maxScratch {
		w.filter = nil
	}
	e.workspaces.Put(w)
}

// Encode writes the insert log of one field. It fails with ErrUnsupported if
// the type cannot be written, ErrCorrupt if the column does not hold together,
// ErrTooLarge at 2 GiB; the column is only read and stays the caller's.
func (e *Encoder) Encode(m Meta, c *column.Column) (*File, error) {
	leaf, err := leafOf(c.Field)
	if err != nil {
		return nil, err
	}
	size := length(c)
	if size >= maxPayload { // also where compression would make it fit: Milvus' readers expand it
		return nil, fmt.Errorf("field %d: %w: %d bytes", c.Field.ID, ErrTooLarge, size)
	}
	w, err := e.workspace()
	if err != nil {
		return nil, err
	}
	defer e.release(w)

	g := newGather(e)
	g.file.Rows, g.file.Original = c.Rows, size
	head := head{meta: m, field: c.Field.ID, kind: c.Field.Type, event: InsertEvent}
	g.write(head.encode(fmt.Appendf(nil, `{"nullable":%t,"original_size":"%d"}`, c.Field.Nullable, g.file.Original)))
	chunk := newChunk(g, w, "val", leaf, c.Field.Nullable)
	chunk.codec = chooseCodec(w, c)
	if err := chunk.column(c); err != nil {
		g.file.Free()
		return nil, fmt.Errorf("field %d: %w", c.Field.ID, err)
	}
	chunk.close()
	return g.finish(head)
}

// length is that of the values, by the pages: a column may have been put
// together from others' pages.
func length(c *column.Column) (n int64) {
	for i := range c.Pages {
		n += int64(len(c.Pages[i].Data))
	}
	return n
}
