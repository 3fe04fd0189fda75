package column

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"pgregory.net/rapid"

	"flowgraph/stages/varint"
)

// model is what a column should hold: nil is a null.
type model [][]byte

func check(t rapid.TB, c *Column, want model) {
	t.Helper()
	i, rows, size, held := 0, 0, 0, 0
	for v, ok := range c.Values() {
		if i == len(want) || ok != (want[i] != nil) || !bytes.Equal(v, want[i]) {
			t.Fatalf("row %d: %.40x %t", i, v, ok)
		}
		i++
	}
	for _, p := range c.Pages {
		rows, size, held = rows+p.Rows, size+len(p.Data), held+cap(p.Data)
		if p.Valid != nil && len(p.Valid) != p.Rows {
			t.Fatalf("%d marks for %d rows", len(p.Valid), p.Rows)
		}
		if w := c.Field.Width(); len(p.Data) > MaxPage && (w == 0 && len(p.Data) != 4+int(binary.LittleEndian.Uint32(p.Data)) || w > 0 && len(p.Data) != w) {
			t.Fatalf("page of %d bytes holds more than one value", len(p.Data))
		}
	}
	if i != len(want) || c.Rows != i || rows != i || c.Bytes() != int64(size) || c.Held() < int64(held) {
		t.Fatalf("%d rows read, %d and %d counted, %d bytes of %d, %d held of %d; want %d", i, c.Rows, rows, c.Bytes(), size, c.Held(), held, len(want))
	}
}

// A row lost or doubled between two pages is lost or doubled in the store.
func TestRowsStayWholeOverPages(t *testing.T) {
	for _, f := range []Field{
		{Type: schemapb.DataType_Int64}, {Type: schemapb.DataType_Bool}, {Type: schemapb.DataType_FloatVector, Dim: 100},
		{Type: schemapb.DataType_FloatVector, Dim: MaxPage/4 + 1}, // wider than a page
	} {
		var pool Pool
		c := New(f)
		var want model
		for batch := range 5 {
			raw := make([]byte, f.Width()*(2+batch*(MaxPage/2/f.Width())))
			for i := range raw {
				raw[i] = byte(i*7 + batch)
			}
			c.AppendFixed(&pool, raw)
			for ; len(raw) > 0; raw = raw[f.Width():] {
				want = append(want, raw[:f.Width()])
			}
		}
		if len(c.Pages) < 2 {
			t.Errorf("width %d: %d pages", f.Width(), len(c.Pages))
		}
		check(t, c, want)
	}
}

func TestHugeValuesGetPagesOfTheirOwn(t *testing.T) {
	var pool Pool
	c := New(Field{Type: schemapb.DataType_VarChar, Nullable: true})
	var want model
	for _, n := range []int{3, 3 * MaxPage, 0, MaxPage - 4, MaxPage - 3, 5, 2 * MaxPage, 2 * MaxPage} {
		v := bytes.Repeat([]byte{byte(n)}, n)
		c.AppendBytes(&pool, v)
		c.AppendNull(&pool)
		want = append(want, v, nil)
	}
	check(t, c, want)
}

func TestAnyMixtureOfRowsAndNulls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var pool Pool
		for range 2 { // the second time with pages that come out of the pool
			width := rapid.SampledFrom([]int{0, 0, 1, 8, 12}).Draw(t, "width")
			c := New(Field{Type: schemapb.DataType_VarChar})
			if width > 0 {
				c.Field = Field{Type: schemapb.DataType_Int8Vector, Dim: width}
			}
			var want model
			for range rapid.IntRange(0, 60).Draw(t, "rows") {
				if rapid.IntRange(0, 3).Draw(t, "null") == 0 {
					c.AppendNull(&pool)
					want = append(want, nil)
					continue
				}
				v := rapid.SliceOfN(rapid.Byte(), width, max(width, 300*(1-min(1, width)))).Draw(t, "value")
				if want = append(want, append([]byte{}, v...)); width > 0 {
					c.AppendFixed(&pool, v)
				} else {
					c.AppendBytes(&pool, v)
				}
			}
			check(t, c, want)
			c.Free(&pool)
			check(t, c, nil)
		}
	})
}

// Negative numbers travel as ten bytes whatever the width of the column.
func TestVarintsOfEveryWidth(t *testing.T) {
	for _, k := range []Type{schemapb.DataType_Bool, schemapb.DataType_Int8, schemapb.DataType_Int32, schemapb.DataType_Int64} {
		var pool Pool
		c := New(Field{Type: k})
		var packed []byte
		var want model
		for i := range 400_000 {
			v := int64(i%5-2) << (i % 28)
			packed = binary.AppendUvarint(packed, uint64(v))
			raw := binary.LittleEndian.AppendUint64(nil, uint64(v))[:c.Field.Width()]
			if k == schemapb.DataType_Bool {
				raw = []byte{0}
				if v != 0 {
					raw[0] = 1
				}
			}
			want = append(want, raw)
		}
		if n, whole := varint.Count(packed); n != len(want) || !whole {
			t.Fatalf("%d varints counted, whole %t", n, whole)
		}
		n, err := c.AppendVarints(&pool, packed)
		if err != nil || n != len(want) {
			t.Fatalf("%d varints appended: %v", n, err)
		}
		check(t, c, want)
	}
}

// What the count lets through must be appendable, and the other way round.
func TestBadVarintsAreRefusedAlike(t *testing.T) {
	for _, tail := range [][]byte{{}, {0x80}, bytes.Repeat([]byte{0xff}, 9), append(bytes.Repeat([]byte{0xff}, 9), 1), append(bytes.Repeat([]byte{0xff}, 9), 2),
		bytes.Repeat([]byte{0x80}, 30), append(bytes.Repeat([]byte{0x80}, 10), 0)} {
		t.Run(fmt.Sprintf("%x", tail), func(t *testing.T) {
			var pool Pool
			packed := append([]byte{1, 2}, tail...)
			_, whole := varint.Count(packed)
			n, err := New(Field{Type: schemapb.DataType_Int64}).AppendVarints(&pool, packed)
			if whole != (err == nil) || n < 2 && err == nil {
				t.Errorf("whole %t, appended %d: %v", whole, n, err)
			}
		})
	}
}

// A page handed to two columns at once mixes their rows.
func TestPoolGivesEveryPageOnce(t *testing.T) {
	var pool Pool
	for range 3 {
		a, b := New(Field{Type: schemapb.DataType_VarChar}), New(Field{Type: schemapb.DataType_VarChar})
		var wantA, wantB model
		for i := range 3000 {
			va, vb := bytes.Repeat([]byte{'a'}, i%900), bytes.Repeat([]byte{'b'}, i%700)
			a.AppendBytes(&pool, va)
			b.AppendBytes(&pool, vb)
			wantA, wantB = append(wantA, va), append(wantB, vb)
		}
		check(t, a, wantA)
		check(t, b, wantB)
		a.Free(&pool)
		b.Free(&pool)
	}
}
