package archive

import (
	"encoding/binary"

	"flowgraph/stages/column"
)

// cursor walks a column that was read, so that columns can be walked side by
// side.
type cursor struct {
	col   *column.Column
	width int
	page  int
	row   int // of the page
	data  []byte
}

func newCursors(columns []*column.Column) []cursor {
	out := make([]cursor, len(columns))
	for i, c := range columns {
		out[i] = cursor{col: c, width: c.Field.Width(), page: -1}
	}
	return out
}

// next is the next row's value, nil for a null. An empty value is not nil.
func (c *cursor) next() []byte {
	for c.page < 0 || c.row == c.col.Pages[c.page].Rows {
		c.page, c.row = c.page+1, 0
		c.data = c.col.Pages[c.page].Data
	}
	valid := c.col.Pages[c.page].Valid
	c.row++
	if valid != nil && !valid[c.row-1] {
		return nil
	}
	n, at := c.width, 0
	if n == 0 {
		n, at = int(binary.LittleEndian.Uint32(c.data)), 4
	}
	v := c.data[at : at+n : at+n]
	c.data = c.data[at+n:]
	return v
}
