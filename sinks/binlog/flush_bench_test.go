package binlog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/stages/column"
)

// flushColumns are the columns of one flush: row IDs, timestamps, keys,
// 128-dim gaussian vectors and texts of 24 characters.
func flushColumns(rows int) []*column.Column {
	var pool column.Pool
	r := rand.New(rand.NewPCG(1, 2))
	columns := []*column.Column{
		column.New(column.Field{ID: column.RowID, Type: schemapb.DataType_Int64}),
		column.New(column.Field{ID: column.Timestamp, Type: schemapb.DataType_Int64}),
		column.New(column.Field{ID: 100, Type: schemapb.DataType_Int64, PrimaryKey: true}),
		column.New(column.Field{ID: 101, Type: schemapb.DataType_FloatVector, Dim: 128}),
		column.New(column.Field{ID: 102, Type: schemapb.DataType_VarChar}),
	}
	vector := make([]byte, 512)
	for i := range int64(rows) {
		columns[0].AppendInt64(&pool, 451000000000000000+i, 1)
		columns[1].AppendInt64(&pool, 461000000000000000+i/1000<<18, 1)
		columns[2].AppendInt64(&pool, 452000000000000000+i, 1)
		for j := 0; j < len(vector); j += 4 {
			_, _ = binary.Encode(vector[j:], binary.LittleEndian, float32(r.NormFloat64()))
		}
		columns[3].AppendFixed(&pool, vector)
		columns[4].AppendBytes(&pool, fmt.Appendf(nil, "doc-%08x/lima-%06d", r.Uint32(), r.IntN(1000000)))
	}
	return columns
}

// encodeFlush writes all files of one flush, statistics included.
func encodeFlush(e *Encoder, columns []*column.Column) (size int64, err error) {
	for _, c := range columns {
		f, err := e.Encode(meta, c)
		if err != nil {
			return 0, err
		}
		size += f.Size
		f.Free()
		if !c.Field.PrimaryKey {
			continue
		}
		if f, err = e.EncodeKeyStats(c, BlockedFilter); err != nil {
			return 0, err
		}
		f.Free()
	}
	return size, nil
}

// BenchmarkFlush is a whole flush beside the least that Milvus' own codec does
// for it: its Parquet writer with its settings, one file a field, from columns
// as it holds them, without its binlog frame and without its statistics.
func BenchmarkFlush(b *testing.B) {
	for _, rows := range []int{4_000, 30_000} {
		columns := flushColumns(rows)
		perSecond := func(b *testing.B, size int64) {
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(float64(size), "stored-bytes")
		}
		b.Run(fmt.Sprintf("ours/rows=%d", rows), func(b *testing.B) {
			var e Encoder
			var size int64
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if size, err = encodeFlush(&e, columns); err != nil {
					b.Fatal(err)
				}
			}
			perSecond(b, size)
		})
		b.Run(fmt.Sprintf("arrow/rows=%d", rows), func(b *testing.B) {
			held := arrowColumns(columns)
			var size int64
			b.ReportAllocs()
			for b.Loop() {
				size = 0
				for _, c := range held {
					n, err := c.encode()
					if err != nil {
						b.Fatal(err)
					}
					size += int64(n)
				}
			}
			perSecond(b, size)
		})
	}
}

// arrowColumn is a column as slices of Go values.
type arrowColumn struct {
	kind    arrow.DataType
	int64s  []int64
	strings []string
	vectors []byte
}

func arrowColumns(columns []*column.Column) (out []*arrowColumn) {
	for _, c := range columns {
		a := &arrowColumn{kind: arrow.PrimitiveTypes.Int64}
		for v := range c.Values() {
			switch c.Field.Type {
			case schemapb.DataType_Int64:
				a.int64s = append(a.int64s, column.Int64(v))
			case schemapb.DataType_VarChar:
				a.kind = arrow.BinaryTypes.String
				a.strings = append(a.strings, string(v))
			default:
				a.kind = &arrow.FixedSizeBinaryType{ByteWidth: len(v)}
				a.vectors = append(a.vectors, v...)
			}
		}
		out = append(out, a)
	}
	return out
}

func (c *arrowColumn) encode() (int, error) {
	builder := array.NewBuilder(memory.DefaultAllocator, c.kind)
	defer builder.Release()
	switch to := builder.(type) {
	case *array.Int64Builder:
		to.AppendValues(c.int64s, nil)
	case *array.StringBuilder:
		for _, s := range c.strings {
			to.Append(s)
		}
	case *array.FixedSizeBinaryBuilder:
		width := c.kind.(*arrow.FixedSizeBinaryType).ByteWidth
		to.Reserve(len(c.vectors) / width)
		for v := c.vectors; len(v) > 0; v = v[width:] {
			to.Append(v[:width])
		}
	}
	values := builder.NewArray()
	defer values.Release()
	schema := arrow.NewSchema([]arrow.Field{{Name: "val", Type: c.kind}}, nil)
	_, vector := c.kind.(*arrow.FixedSizeBinaryType)
	props := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd), parquet.WithCompressionLevel(3), parquet.WithDictionaryDefault(!vector))
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &out, props, pqarrow.DefaultWriterProps())
	if err != nil {
		return 0, err
	}
	batch := array.NewRecordBatch(schema, []arrow.Array{values}, int64(values.Len()))
	defer batch.Release()
	if err := w.Write(batch); err != nil {
		return 0, err
	}
	if err := w.Close(); err != nil {
		return 0, err
	}
	return out.Len(), nil
}

// What a flush takes beside its pages is taken from pools: a file costs some
// small allocations, whatever it holds.
func TestAFlushIsEncodedWithoutNewBuffers(t *testing.T) {
	columns := flushColumns(4_000)
	var e Encoder
	encode := func() {
		if _, err := encodeFlush(&e, columns); err != nil {
			t.Fatal(err)
		}
	}
	encode()
	const files, each = 6, 40
	if n := testing.AllocsPerRun(20, encode); n > files*each {
		t.Errorf("%.0f allocations for the %d files of a flush, want at most %d", n, files, files*each)
	}
}
