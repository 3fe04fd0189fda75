package binlog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/stages/column"
)

var meta = Meta{Collection: 445566, Partition: 445567, Segment: 445600, MinTS: 445644800000000000, MaxTS: 445644800000000003}

// types are all that can be written, with small dimensions.
var types = []column.Field{
	{Type: schemapb.DataType_Bool}, {Type: schemapb.DataType_Int8}, {Type: schemapb.DataType_Int16},
	{Type: schemapb.DataType_Int32}, {Type: schemapb.DataType_Int64}, {Type: schemapb.DataType_Timestamptz},
	{Type: schemapb.DataType_Float}, {Type: schemapb.DataType_Double},
	{Type: schemapb.DataType_VarChar}, {Type: schemapb.DataType_String}, {Type: schemapb.DataType_Text},
	{Type: schemapb.DataType_JSON}, {Type: schemapb.DataType_Array}, {Type: schemapb.DataType_Geometry},
	{Type: schemapb.DataType_SparseFloatVector},
	{Type: schemapb.DataType_FloatVector, Dim: 12}, {Type: schemapb.DataType_BinaryVector, Dim: 24},
	{Type: schemapb.DataType_Float16Vector, Dim: 5}, {Type: schemapb.DataType_BFloat16Vector, Dim: 5},
	{Type: schemapb.DataType_Int8Vector, Dim: 7},
}

// fill makes a column of random rows; one row in nulls is null if that is not 0.
func fill(f column.Field, rows, nulls int, seed uint64) *column.Column {
	var pool column.Pool
	r := rand.New(rand.NewPCG(seed, 1))
	c := column.New(f)
	c.Field.Nullable = c.Field.Nullable || nulls > 0
	for range rows {
		if nulls > 0 && r.IntN(nulls) == 0 {
			c.AppendNull(&pool)
			continue
		}
		if w := f.Width(); w > 0 {
			c.AppendFixed(&pool, randomFixed(r, f, w))
			continue
		}
		v := make([]byte, r.IntN(40))
		for i := range v {
			v[i] = byte('a' + r.IntN(26))
		}
		c.AppendBytes(&pool, v)
	}
	return c
}

func randomFixed(r *rand.Rand, f column.Field, width int) []byte {
	v := make([]byte, width)
	for i := range v {
		v[i] = byte(r.Uint32())
	}
	switch f.Type {
	case schemapb.DataType_Bool:
		v[0] &= 1
	case schemapb.DataType_Int8:
		binary.LittleEndian.PutUint32(v, uint32(int32(int8(v[0]))))
	case schemapb.DataType_Int16:
		binary.LittleEndian.PutUint32(v, uint32(int32(int16(binary.LittleEndian.Uint16(v)))))
	}
	return v
}

func mustEncode(t testing.TB, e *Encoder, c *column.Column) *File {
	t.Helper()
	f, err := e.Encode(meta, c)
	if err != nil {
		t.Fatal(err)
	}
	b := joined(f)
	if f.Size != int64(len(b)) || f.CRC32C != crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) || f.Rows != c.Rows {
		t.Fatalf("%d bytes, sum %x, %d rows do not describe the parts", f.Size, f.CRC32C, f.Rows)
	}
	return f
}

// Rows that change on the way to the store are lost for good.
func TestRoundTripOfEveryType(t *testing.T) {
	var e Encoder
	for _, f := range types {
		f.ID = 101
		for _, shape := range []struct{ rows, nulls int }{{0, 0}, {1, 0}, {1000, 0}, {1000, 3}, {64, 1}, {20000, 50}} {
			t.Run(fmt.Sprintf("%v/%d/%d", f.Type, shape.rows, shape.nulls), func(t *testing.T) {
				c := fill(f, shape.rows, shape.nulls, 7)
				file := mustEncode(t, &e, c)
				defer file.Free()
				log, err := Read(joined(file))
				if err != nil {
					t.Fatal(err)
				}
				sameRows(t, c, log.Rows)
				d := log.Descriptor
				if d.Field != 101 || d.Type != f.Type || d.Extras.Nullable != c.Field.Nullable || d.Extras.OriginalSize != c.Bytes() || d.MinTS != meta.MinTS || d.MaxTS != meta.MaxTS {
					t.Errorf("head %+v", d)
				}
				arrowRows(t, log.Payload, c)
			})
		}
	}
}

// arrowRows reads a payload through arrow's own table reader, which shares
// nothing with ours but the low-level decoders.
func arrowRows(t *testing.T, payload []byte, want *column.Column) {
	t.Helper()
	r, err := file.NewParquetReader(bytes.NewReader(payload))
	if err != nil {
		t.Fatal(err)
	}
	pr, err := pqarrow.NewFileReader(r, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	table, err := pr.ReadTable(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer table.Release()
	if table.NumCols() != 1 || table.Column(0).Name() != "val" || table.NumRows() != int64(want.Rows) {
		t.Fatalf("%d columns, %d rows of %v", table.NumCols(), table.NumRows(), table.Schema())
	}
	var at int
	var chunks []arrow.Array
	chunks = append(chunks, table.Column(0).Data().Chunks()...)
	for v, ok := range want.Values() {
		for at == chunks[0].Len() {
			chunks, at = chunks[1:], 0
		}
		if null := chunks[0].IsNull(at); null == ok || ok && !bytes.Equal(arrowValue(chunks[0], at), v) {
			t.Fatalf("arrow reads %v, want %x", chunks[0].ValueStr(at), v)
		}
		at++
	}
}

// arrowValue is a value in PLAIN layout, by the arrow type that Milvus expects.
func arrowValue(a arrow.Array, i int) []byte {
	le := binary.LittleEndian
	switch a := a.(type) {
	case *array.Boolean:
		if a.Value(i) {
			return []byte{1}
		}
		return []byte{0}
	case *array.Int8:
		return le.AppendUint32(nil, uint32(int32(a.Value(i))))
	case *array.Int16:
		return le.AppendUint32(nil, uint32(int32(a.Value(i))))
	case *array.Int32:
		return le.AppendUint32(nil, uint32(a.Value(i)))
	case *array.Int64:
		return le.AppendUint64(nil, uint64(a.Value(i)))
	case *array.Float32:
		return arrow.Float32Traits.CastToBytes([]float32{a.Value(i)})
	case *array.Float64:
		return arrow.Float64Traits.CastToBytes([]float64{a.Value(i)})
	case *array.String:
		return []byte(a.Value(i))
	case *array.Binary:
		return a.Value(i)
	case *array.FixedSizeBinary:
		return a.Value(i)
	}
	return nil
}

// A page of its own for a huge value, and pages that fill up, are the places
// where a row could fall between two.
func TestRoundTripOfManyPagesAndHugeValues(t *testing.T) {
	var pool column.Pool
	var e Encoder
	vectors := fill(column.Field{ID: 102, Type: schemapb.DataType_FloatVector, Dim: 768}, 2000, 0, 3)
	blobs := fill(column.Field{ID: 103, Type: schemapb.DataType_VarChar}, 100, 4, 4)
	blobs.AppendBytes(&pool, bytes.Repeat([]byte("0123456789abcdef"), 200_000))
	for range 300_000 {
		blobs.AppendBytes(&pool, []byte("after"))
	}
	for _, c := range []*column.Column{vectors, blobs} {
		if len(c.Pages) < 3 {
			t.Fatalf("%d pages", len(c.Pages))
		}
		f := mustEncode(t, &e, c)
		log, err := Read(joined(f))
		if err != nil {
			t.Fatal(err)
		}
		sameRows(t, c, log.Rows)
		arrowRows(t, log.Payload, c)
		f.Free()
	}
}

// Copying a vector column to upload it costs as much as all else.
func TestRandomVectorsAreBorrowedNotCopied(t *testing.T) {
	var e Encoder
	c := fill(column.Field{ID: 102, Type: schemapb.DataType_FloatVector, Dim: 768}, 2000, 0, 3)
	f := mustEncode(t, &e, c)
	defer f.Free()
	if !f.Borrowed || f.Held() > smallChunk {
		t.Errorf("borrowed %t, holds %d bytes of its own", f.Borrowed, f.Held())
	}
	borrowed := 0
	for _, p := range f.Parts {
		for i := range c.Pages {
			if &p[0] == &c.Pages[i].Data[0] {
				borrowed++
			}
		}
	}
	if borrowed != len(c.Pages) {
		t.Errorf("%d of %d pages are parts", borrowed, len(c.Pages))
	}
}

// A pooled buffer that is handed out twice mixes two files.
func TestFreedFileDoesNotDisturbTheNext(t *testing.T) {
	var e Encoder
	a, b := fill(types[4], 50_000, 0, 1), fill(types[8], 50_000, 0, 2)
	first := mustEncode(t, &e, a)
	first.Free()
	first.Free()
	second, third := mustEncode(t, &e, b), mustEncode(t, &e, a)
	for c, f := range map[*column.Column]*File{b: second, a: third} {
		log, err := Read(joined(f))
		if err != nil {
			t.Fatal(err)
		}
		sameRows(t, c, log.Rows)
	}
}

// A column that shrinks and is stored raw costs its readers and its owner for
// ever; one that does not and is compressed costs many times its copying.
func TestWhatShrinksIsCompressedAndNothingElse(t *testing.T) {
	var pool column.Pool
	columns := flushColumns(4_000)
	integers := column.New(column.Field{ID: 103, Type: schemapb.DataType_FloatVector, Dim: 8})
	r := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		var row []byte
		for range 8 {
			row = binary.LittleEndian.AppendUint32(row, math.Float32bits(float32(r.IntN(200))))
		}
		integers.AppendFixed(&pool, row)
	}
	want := []int32{codecZstd, codecZstd, codecZstd, codecRaw, codecZstd, codecZstd}
	for i, c := range append(columns, integers) {
		z, err := newZstd()
		if err != nil {
			t.Fatal(err)
		}
		if got := chooseCodec(&workspace{zstd: z}, c); got != want[i] {
			t.Errorf("field %d: codec %d, want %d", c.Field.ID, got, want[i])
		}
	}
}

// What a probe has compressed is taken for a page's only where it is the page.
func TestPagesOfOneSizeAreNotTakenForEachOther(t *testing.T) {
	for _, nullable := range []bool{false, true} {
		for _, rows := range []int{1, 2, 4096} {
			c := column.New(column.Field{ID: 101, Type: schemapb.DataType_Int64, Nullable: nullable})
			for page := range 5 {
				p := column.Page{Rows: rows}
				for i := range rows {
					p.Data = binary.LittleEndian.AppendUint64(p.Data, uint64(1000*page+i%7))
				}
				c.Pages, c.Rows = append(c.Pages, p), c.Rows+rows
			}
			var e Encoder
			for range 2 {
				f := mustEncode(t, &e, c)
				log, err := Read(joined(f))
				if err != nil {
					t.Fatal(err)
				}
				if got, want := lines(t, log.Rows), lines(t, c); !slices.Equal(got, want) {
					t.Fatalf("nullable %t, pages of %d rows: other values are read than were written", nullable, rows)
				}
				f.Free()
			}
		}
	}
}
