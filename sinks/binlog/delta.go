package binlog

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/stages/column"
)

// EncodeDeltas writes a delta log in the JSON format, the only one that every
// reader and every import of Milvus takes: keys is an Int64 or VarChar
// column, timestamps an Int64 column of equal length; row i of both is one
// delete. The result never borrows. Errors as of Encode.
func (e *Encoder) EncodeDeltas(m Meta, keys, timestamps *column.Column) (*File, error) {
	kind := keys.Field.Type
	if kind != schemapb.DataType_Int64 && kind != schemapb.DataType_VarChar || timestamps.Field.Type != schemapb.DataType_Int64 {
		return nil, fmt.Errorf("deletes of %v keys: %w", kind, ErrUnsupported)
	}
	if keys.Rows != timestamps.Rows {
		return nil, fmt.Errorf("%w: %d keys, %d timestamps", ErrCorrupt, keys.Rows, timestamps.Rows)
	}
	w, err := e.workspace()
	if err != nil {
		return nil, err
	}
	defer e.release(w)

	g := newGather(e)
	g.file.Rows, g.file.Original = keys.Rows, length(keys)+length(timestamps)
	head := head{meta: m, field: -1, kind: schemapb.DataType_String, event: DeleteEvent}
	g.write(head.encode(fmt.Appendf(nil, `{"original_size":"%d"}`, g.file.Original)))
	text := leaf{physical: parquetByteArray, converted: convertedUTF8}
	chunk := newChunk(g, w, "delta", text, false)
	chunk.codec = codecZstd
	if err := chunk.deltas(keys, timestamps); err != nil {
		g.file.Free()
		return nil, fmt.Errorf("deletes: %w", err)
	}
	chunk.close()
	return g.finish(head)
}

// deltas renders the deletes into pages, one page in memory at a time.
func (c *chunk) deltas(keys, timestamps *column.Column) error {
	key, ts := cursor{col: keys}, cursor{col: timestamps}
	page := column.Page{Data: c.w.page[:0]}
	for range keys.Rows {
		k, err := key.next()
		if err != nil {
			return err
		}
		t, err := ts.next()
		if err != nil {
			return err
		}
		if page.Data, err = appendDelta(page.Data, keys.Field.Type, k, binary.LittleEndian.Uint64(t)); err != nil {
			return err
		}
		if page.Rows++; len(page.Data) >= column.MaxPage-deltaRoom {
			c.page(&page)
			page.Data, page.Rows = page.Data[:0], 0
		}
	}
	if page.Rows > 0 || c.rows == 0 {
		c.page(&page)
	}
	c.w.page = page.Data
	return nil
}

// deltaRoom is about one rendered delete: pages end before they would grow.
const deltaRoom = 1 << 10

// appendDelta appends one row in PLAIN layout.
func appendDelta(dst []byte, kind column.Type, key []byte, ts uint64) ([]byte, error) {
	at := len(dst)
	dst = append(dst, "\x00\x00\x00\x00"+`{"pk":`...)
	if kind == schemapb.DataType_Int64 {
		dst = strconv.AppendInt(dst, column.Int64(key), 10)
	} else {
		// JSON would put a substitute for what is no text: another key.
		if !utf8.Valid(key) {
			return dst, fmt.Errorf("%w: key %.100q is not UTF-8", ErrCorrupt, key)
		}
		dst = appendString(dst, key)
	}
	dst = append(dst, `,"ts":`...)
	dst = strconv.AppendUint(dst, ts, 10)
	dst = append(dst, `,"pkType":`...)
	dst = strconv.AppendInt(dst, int64(kind), 10)
	dst = append(dst, '}')
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst, nil
}

// cursor walks a column without nulls; every length is checked.
type cursor struct {
	col  *column.Column
	page int
	data []byte // of the page at hand, what is left
}

func (c *cursor) next() ([]byte, error) {
	for len(c.data) == 0 {
		if c.page == len(c.col.Pages) {
			return nil, fmt.Errorf("%w: fewer values than rows", ErrCorrupt)
		}
		c.data = c.col.Pages[c.page].Data
		c.page++
	}
	n, at := c.col.Field.Width(), 0
	if n == 0 {
		at = 4
		if len(c.data) < at {
			return nil, fmt.Errorf("%w: value without a length", ErrCorrupt)
		}
		n = int(binary.LittleEndian.Uint32(c.data))
	}
	if n > len(c.data)-at {
		return nil, fmt.Errorf("%w: value of %d bytes in %d", ErrCorrupt, n, len(c.data)-at)
	}
	v := c.data[at : at+n]
	c.data = c.data[at+n:]
	return v, nil
}
