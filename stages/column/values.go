package column

import (
	"encoding/binary"
	"iter"
)

// Values yields every row's value as a view into the page: little-endian
// bytes of the column's width, or the bytes behind the length; nil and false
// for a null.
func (c *Column) Values() iter.Seq2[[]byte, bool] {
	return func(yield func([]byte, bool) bool) {
		width := c.Field.Width()
		for i := range c.Pages {
			data := c.Pages[i].Data
			for row := range c.Pages[i].Rows {
				if v := c.Pages[i].Valid; v != nil && !v[row] {
					if !yield(nil, false) {
						return
					}
					continue
				}
				n, at := width, 0
				if width == 0 {
					n, at = int(binary.LittleEndian.Uint32(data)), 4
				}
				if !yield(data[at:at+n:at+n], true) {
					return
				}
				data = data[at+n:]
			}
		}
	}
}

// Int64 reads a value of eight bytes as Values yields it.
func Int64(v []byte) int64 { return int64(binary.LittleEndian.Uint64(v)) }
