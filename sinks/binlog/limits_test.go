package binlog

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/stages/column"
)

// A file that cannot be read must not reach the store.
func TestBrokenColumnsAreRefused(t *testing.T) {
	page := func(f column.Field, p ...column.Page) *column.Column {
		c := &column.Column{Field: f, Pages: p}
		for i := range p {
			c.Rows += p[i].Rows
		}
		return c
	}
	int64s, text := column.Field{Type: schemapb.DataType_Int64}, column.Field{Type: schemapb.DataType_VarChar}
	short := page(int64s, column.Page{Data: make([]byte, 8), Rows: 1})
	short.Rows = 2
	for name, tt := range map[string]struct {
		c    *column.Column
		want error
	}{
		"half a value":        {page(int64s, column.Page{Data: make([]byte, 12), Rows: 2}), ErrCorrupt},
		"rows without values": {page(int64s, column.Page{Data: make([]byte, 8), Rows: 2}), ErrCorrupt},
		"null in a required":  {page(int64s, column.Page{Rows: 1, Valid: []bool{false}}), ErrCorrupt},
		"marks and rows":      {page(int64s, column.Page{Data: make([]byte, 8), Rows: 1, Valid: []bool{true, false}}), ErrCorrupt},
		"length past the end": {page(text, column.Page{Data: []byte{9, 0, 0, 0, 'a'}, Rows: 1}), ErrCorrupt},
		"text without length": {page(text, column.Page{Data: []byte{9, 0}, Rows: 1}), ErrCorrupt},
		"too few texts":       {page(text, column.Page{Data: []byte{0, 0, 0, 0}, Rows: 2}), ErrCorrupt},
		"count of rows":       {short, ErrCorrupt},
		"vector without dim":  {page(column.Field{Type: schemapb.DataType_FloatVector}), ErrUnsupported},
		"unknown type":        {page(column.Field{Type: 99}), ErrUnsupported},
	} {
		var e Encoder
		if _, err := e.Encode(meta, tt.c); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
}

// Garbage per page or per row is what made encoders slow.
func TestEncodingAllocatesPerFileNotPerRow(t *testing.T) {
	var e Encoder
	for _, f := range []column.Field{{Type: schemapb.DataType_FloatVector, Dim: 64}, {Type: schemapb.DataType_Int64}, {Type: schemapb.DataType_VarChar}, {Type: schemapb.DataType_Bool}} {
		c := fill(f, 30_000, 0, 5)
		n := testing.AllocsPerRun(5, func() { mustEncodeAndFree(t, &e, c) })
		if n > 60 {
			t.Errorf("%v: %v allocations for %d rows in %d pages", f.Type, n, c.Rows, len(c.Pages))
		}
	}
	keys, times := fill(column.Field{Type: schemapb.DataType_Int64}, 30_000, 0, 5), fill(column.Field{Type: schemapb.DataType_Int64}, 30_000, 0, 6)
	n := testing.AllocsPerRun(5, func() {
		f, err := e.EncodeDeltas(meta, keys, times)
		if err != nil {
			t.Fatal(err)
		}
		f.Free()
	})
	if n > 60 {
		t.Errorf("%v allocations for %d deletes", n, keys.Rows)
	}
}

func mustEncodeAndFree(t *testing.T, e *Encoder, c *column.Column) {
	f, err := e.Encode(meta, c)
	if err != nil {
		t.Fatal(err)
	}
	f.Free()
}

// Lengths are int32 in the format: from 2 GiB on they would be negative.
func TestFilesOfTwoGiBAreRefused(t *testing.T) {
	var e Encoder
	c := fill(column.Field{Type: schemapb.DataType_FloatVector, Dim: 256}, 1024, 0, 1)
	page := c.Pages[len(c.Pages)-1]
	for length(c) < 1<<31-2048 { // the same page again and again: no memory is needed
		c.Pages, c.Rows = append(c.Pages, page), c.Rows+page.Rows
	}
	if _, err := e.Encode(meta, c); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%d bytes: %v", length(c), err)
	}
	c.Pages, c.Rows = c.Pages[:len(c.Pages)-1], c.Rows-page.Rows
	if f, err := e.Encode(meta, c); err != nil || f.Size != int64(endOf(f)) {
		t.Errorf("%d bytes: %v", length(c), err)
	}
}

// endOf is where a file says that it ends.
func endOf(f *File) int32 {
	first := f.Parts[0]
	start := magicSize + int32(binary.LittleEndian.Uint32(first[13:]))
	return start + int32(binary.LittleEndian.Uint32(first[start+9:]))
}
