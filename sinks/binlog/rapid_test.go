package binlog

import (
	"bytes"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"pgregory.net/rapid"

	"flowgraph/stages/column"
)

// columns draws a column of any type, its pages cut anywhere.
func columns(t *rapid.T) *column.Column {
	f := rapid.SampledFrom(types).Draw(t, "field")
	f.ID = rapid.Int64().Draw(t, "id")
	f.Nullable = rapid.Bool().Draw(t, "nullable")
	out := column.New(f)
	for range rapid.IntRange(0, 4).Draw(t, "pages") {
		var pool column.Pool
		page := column.New(f)
		for range rapid.IntRange(0, 50).Draw(t, "rows") {
			switch {
			case f.Nullable && rapid.Bool().Draw(t, "null"):
				page.AppendNull(&pool)
			case f.Type == schemapb.DataType_Bool:
				page.AppendFixed(&pool, []byte{byte(rapid.IntRange(0, 1).Draw(t, "value"))})
			case f.Width() > 0:
				page.AppendFixed(&pool, rapid.SliceOfN(rapid.Byte(), f.Width(), f.Width()).Draw(t, "value"))
			default:
				page.AppendBytes(&pool, rapid.SliceOf(rapid.Byte()).Draw(t, "value"))
			}
		}
		out.Pages = append(out.Pages, page.Pages...)
		out.Rows += page.Rows
	}
	return out
}

func TestAnyColumnRoundTrips(t *testing.T) {
	var e Encoder
	rapid.Check(t, func(t *rapid.T) {
		c := columns(t)
		f, err := e.Encode(meta, c)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Free()
		log, err := Read(joined(f))
		if err != nil {
			t.Fatal(err)
		}
		type row struct {
			v  []byte
			ok bool
		}
		var want []row
		for v, ok := range c.Values() {
			want = append(want, row{v, ok})
		}
		i := 0
		for v, ok := range log.Rows.Values() {
			if ok != want[i].ok || !bytes.Equal(v, want[i].v) {
				t.Fatalf("row %d: %x %t, want %x %t", i, v, ok, want[i].v, want[i].ok)
			}
			i++
		}
		if i != len(want) || log.Rows.Field.Type != c.Field.Type || log.Rows.Field.ID != c.Field.ID {
			t.Fatalf("%d rows of %d, field %+v", i, len(want), log.Rows.Field)
		}
	})
}
