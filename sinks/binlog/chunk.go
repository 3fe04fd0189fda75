package binlog

import (
	"encoding/binary"
	"fmt"

	"flowgraph/stages/column"
)

// createdBy names the writer as Parquet wants it: readers look for known
// faults by application and version. The version is that of this layout.
const createdBy = "flowgraph version 1.0.0"

const parquetMagic = "PAR1"

// chunk writes the payload: a Parquet file with one column in one row group,
// one PLAIN V1 data page a page of the column.
type chunk struct {
	g        *gather
	w        *workspace
	name     string
	leaf     leaf
	nullable bool
	codec    int32

	start        int64 // of the Parquet file in the binlog
	rows         int64
	uncompressed int64 // page headers included, as Parquet counts
	bounds       bounds
}

func newChunk(g *gather, w *workspace, name string, l leaf, nullable bool) *chunk {
	c := &chunk{g: g, w: w, name: name, leaf: l, nullable: nullable, start: g.file.Size}
	g.write([]byte(parquetMagic))
	return c
}

// column writes a column's pages. An empty column gets one empty page, since
// some readers want a chunk to have one.
func (c *chunk) column(col *column.Column) error {
	width := col.Field.Width()
	for i := range col.Pages {
		p := &col.Pages[i]
		n, err := values(p)
		if err != nil {
			return err
		}
		if n < p.Rows && !c.nullable {
			return fmt.Errorf("%w: null in a field that has none", ErrCorrupt)
		}
		if err := c.bounds.add(c.leaf, width, p.Data, n); err != nil {
			return err
		}
		c.bounds.nulls += int64(p.Rows - n)
		c.page(p)
	}
	if len(col.Pages) == 0 {
		c.page(&column.Page{})
	}
	if c.rows != int64(col.Rows) {
		return fmt.Errorf("%w: %d rows in pages, %d in the column", ErrCorrupt, c.rows, col.Rows)
	}
	return nil
}

// page writes one data page: levels if the column is nullable, then values,
// compressed together. Raw values that are the column's page are not copied.
func (c *chunk) page(p *column.Page) {
	own, values := c.w.plain[:0], p.Data
	if c.nullable {
		own = appendLevels(own, p)
	}
	if c.leaf.physical == parquetBoolean {
		own, values = appendBits(own, p.Data), nil
	}
	c.rows += int64(p.Rows)
	if c.codec == codecRaw {
		c.header(len(own)+len(values), len(own)+len(values), p.Rows)
		c.g.write(own)
		c.g.borrow(values)
		c.w.plain = own
		return
	}
	whole := values
	if len(own) > 0 {
		own = append(own, values...)
		whole = own
	}
	c.w.compress(whole)
	c.header(len(whole), len(c.w.compressed), p.Rows)
	c.g.write(c.w.compressed)
	c.w.plain = own
}

// header writes a PageHeader.
func (c *chunk) header(uncompressed, compressed, rows int) {
	t := &c.w.thrift
	t.reset()
	t.element()
	t.i32(1, 0) // DATA_PAGE
	t.i32(2, int32(uncompressed))
	t.i32(3, int32(compressed))
	t.begin(5)
	t.i32(1, int32(rows))
	t.i32(2, encodingPlain)
	t.i32(3, encodingRLE)
	t.i32(4, encodingRLE)
	t.end()
	t.end()
	c.uncompressed += int64(len(t.b) + uncompressed)
	c.g.write(t.b)
}

// close writes the footer: FileMetaData, its length, the magic.
func (c *chunk) close() {
	compressed := c.g.file.Size - c.start - int64(len(parquetMagic))
	t := &c.w.thrift
	t.reset()
	t.element()
	t.i32(1, 2) // version
	c.schema()
	t.i64(3, c.rows)
	t.list(4, thriftStruct, 1)
	t.element() // RowGroup
	t.list(1, thriftStruct, 1)
	t.element() // ColumnChunk
	t.i64(2, 0) // file_offset, deprecated
	c.metadata(compressed)
	t.end()
	t.i64(2, c.uncompressed)
	t.i64(3, c.rows)
	t.i64(5, int64(len(parquetMagic)))
	t.i64(6, compressed)
	t.end()
	t.binary(6, []byte(createdBy))
	t.list(7, thriftStruct, 1) // column orders: the bounds are in the type's order
	t.element()
	t.begin(1)
	t.end()
	t.end()
	t.end()
	t.b = binary.LittleEndian.AppendUint32(t.b, uint32(len(t.b)))
	t.b = append(t.b, parquetMagic...)
	c.g.write(t.b)
}

// schema writes the root and the one leaf.
func (c *chunk) schema() {
	t := &c.w.thrift
	t.list(2, thriftStruct, 2)
	t.element()
	t.i32(3, repeatRequired)
	t.binary(4, []byte("schema"))
	t.i32(5, 1) // children
	t.end()
	t.element()
	t.i32(1, c.leaf.physical)
	if c.leaf.physical == parquetFixed {
		t.i32(2, c.leaf.length)
	}
	if c.nullable {
		t.i32(3, repeatOptional)
	} else {
		t.i32(3, repeatRequired)
	}
	t.binary(4, []byte(c.name))
	if c.leaf.converted != notConverted {
		t.i32(6, c.leaf.converted)
		t.begin(10) // the same as a logical type
		if c.leaf.converted == convertedUTF8 {
			t.begin(1)
		} else {
			t.begin(10)
			t.i8(1, c.leaf.bits)
			t.bool(2, true) // signed
		}
		t.end()
		t.end()
	}
	t.end()
}

// metadata writes the ColumnMetaData.
func (c *chunk) metadata(compressed int64) {
	t := &c.w.thrift
	t.begin(3)
	t.i32(1, c.leaf.physical)
	t.list(2, thriftI32, 2)
	t.int(encodingPlain)
	t.int(encodingRLE)
	t.list(3, thriftBinary, 1)
	t.bytes([]byte(c.name))
	t.i32(4, c.codec)
	t.i64(5, c.rows)
	t.i64(6, c.uncompressed)
	t.i64(7, compressed)
	t.i64(9, int64(len(parquetMagic)))
	t.begin(12)
	t.i64(3, c.bounds.nulls)
	if lo, hi := c.bounds.encoded(c.leaf); lo != nil {
		t.binary(5, hi)
		t.binary(6, lo)
	}
	t.end()
	t.end()
}
