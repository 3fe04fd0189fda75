package column

import (
	"encoding/binary"
	"fmt"

	"flowgraph/stages/varint"
)

// Page is a run of rows of one column.
type Page struct {
	// Data holds the values that are not null, in PLAIN layout: fixed-width
	// values little-endian back to back, others behind a 4-byte length.
	Data  []byte
	Rows  int
	Valid []bool // one a row; nil if the page holds no null
}

// Column holds the values of one field in row order.
type Column struct {
	Field Field
	Rows  int
	Pages []Page
	bytes int64 // length of the values
	held  int64 // memory of the pages
}

// New returns an empty column.
func New(f Field) *Column { return &Column{Field: f} }

// Bytes is the length of the values in PLAIN layout.
func (c *Column) Bytes() int64 { return c.bytes }

// Held is the memory that the column keeps, in bytes.
func (c *Column) Held() int64 { return c.held }

// Free gives the pages back to the pool; the column is empty afterwards.
func (c *Column) Free(p *Pool) {
	for i := range c.Pages {
		p.put(c.Pages[i].Data)
	}
	c.Pages, c.Rows, c.bytes, c.held = nil, 0, 0, 0
}

// grow returns the page that takes the next n bytes, all of one value or of
// several that fit. It is the only place that decides about page sizes.
func (c *Column) grow(p *Pool, n int) *Page {
	if len(c.Pages) > 0 {
		last := &c.Pages[len(c.Pages)-1]
		need := len(last.Data) + n
		if need <= cap(last.Data) {
			return last
		}
		if need <= MaxPage {
			bigger := append(p.get(need), last.Data...)
			c.held += int64(cap(bigger) - cap(last.Data))
			p.put(last.Data)
			last.Data = bigger
			return last
		}
	}
	first := n
	if len(c.Pages) > 0 { // a column that filled a page will fill more
		first = max(n, MaxPage)
	}
	c.Pages = append(c.Pages, Page{Data: p.get(first)})
	c.held += int64(cap(c.Pages[len(c.Pages)-1].Data))
	return &c.Pages[len(c.Pages)-1]
}

// AppendFixed copies whole fixed-width values.
func (c *Column) AppendFixed(p *Pool, raw []byte) {
	width := c.Field.Width()
	perPage := max(1, MaxPage/width) * width
	for len(raw) > 0 {
		n := len(raw)
		if last := len(c.Pages) - 1; last >= 0 && len(c.Pages[last].Data)+width <= perPage {
			n = min(n, perPage-len(c.Pages[last].Data))
		}
		n = min(n, perPage)
		page := c.grow(p, n)
		page.Data = append(page.Data, raw[:n]...)
		c.added(page, n/width, n)
		raw = raw[n:]
	}
}

// AppendVarints copies packed varints as values of the column's width (1, 4
// or 8 bytes). It returns how many there were and an error if the last one
// is cut short; the column is then not to be used.
func (c *Column) AppendVarints(p *Pool, packed []byte) (int, error) {
	width := c.Field.Width()
	rows, whole := varint.Count(packed)
	for left := rows; left > 0; {
		// As many bytes as fit into the page at hand, at least one value.
		n := MaxPage / width
		if last := len(c.Pages) - 1; last >= 0 && len(c.Pages[last].Data)+width <= MaxPage {
			n = (MaxPage - len(c.Pages[last].Data)) / width
		}
		n = min(n, left)
		page := c.grow(p, n*width)
		page.Data, packed = appendVarints(page.Data, packed, n, width)
		c.added(page, n, n*width)
		left -= n
	}
	if !whole {
		return rows, fmt.Errorf("field %d: a varint is cut short or has more than 64 bits", c.Field.ID)
	}
	return rows, nil
}

// appendVarints takes n numbers that Count has found whole.
func appendVarints(dst, packed []byte, n, width int) ([]byte, []byte) {
	at := len(dst)
	dst = dst[:at+n*width] // the page has room
	for range n {
		v, size := varint.Read(packed)
		packed = packed[size:]
		switch width {
		case 8:
			binary.LittleEndian.PutUint64(dst[at:], v)
		case 4:
			binary.LittleEndian.PutUint32(dst[at:], uint32(v))
		default:
			dst[at] = 0
			if v != 0 {
				dst[at] = 1
			}
		}
		at += width
	}
	return dst, packed
}

// AppendInt64 adds one value of eight bytes so many times.
func (c *Column) AppendInt64(p *Pool, v int64, times int) {
	var value [8]byte
	binary.LittleEndian.PutUint64(value[:], uint64(v))
	for range times {
		c.AppendFixed(p, value[:])
	}
}

// AppendBytes copies one value of variable width.
func (c *Column) AppendBytes(p *Pool, v []byte) {
	page := c.grow(p, 4+len(v))
	page.Data = binary.LittleEndian.AppendUint32(page.Data, uint32(len(v)))
	page.Data = append(page.Data, v...)
	c.added(page, 1, 4+len(v))
}

// AppendNull adds a row without a value.
func (c *Column) AppendNull(p *Pool) {
	page := c.grow(p, 0)
	for len(page.Valid) < page.Rows {
		page.Valid = append(page.Valid, true)
	}
	page.Valid = append(page.Valid, false)
	page.Rows++
	c.Rows++
}

func (c *Column) added(page *Page, rows, bytes int) {
	c.bytes += int64(bytes)
	if page.Valid != nil {
		for range rows {
			page.Valid = append(page.Valid, true)
		}
	}
	page.Rows += rows
	c.Rows += rows
}
