package binlog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/klauspost/compress/zstd"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/stages/column"
)

// vectors64 is 64 MiB of 128-dimensional float vectors: gaussian, or with
// small integers as values, as SIFT has them.
func vectors64(integers bool) *column.Column {
	var pool column.Pool
	c := column.New(column.Field{ID: 101, Type: schemapb.DataType_FloatVector, Dim: 128})
	r := rand.New(rand.NewPCG(1, 2))
	row := make([]byte, 512)
	for range 64 << 20 / 512 {
		for i := 0; i < len(row); i += 4 {
			v := float32(r.NormFloat64())
			if integers {
				v = float32(min(218, math.Floor(math.Abs(float64(v))*25)))
			}
			binary.LittleEndian.PutUint32(row[i:], math.Float32bits(v))
		}
		c.AppendFixed(&pool, row)
	}
	return c
}

// int64s64 is 64 MiB of numbers: rising like row IDs, or random.
func int64s64(random bool) *column.Column {
	var pool column.Pool
	c := column.New(column.Field{ID: 100, Type: schemapb.DataType_Int64})
	r := rand.New(rand.NewPCG(1, 2))
	raw := make([]byte, 8)
	for i := range 8 << 20 {
		v := uint64(445700000000000000 + i)
		if random {
			v = r.Uint64()
		}
		binary.LittleEndian.PutUint64(raw, v)
		c.AppendFixed(&pool, raw)
	}
	return c
}

// strings64 is 64 MiB of text: 24 random hexadecimal digits, or a few words.
func strings64(few bool) *column.Column {
	var pool column.Pool
	c := column.New(column.Field{ID: 102, Type: schemapb.DataType_VarChar})
	r := rand.New(rand.NewPCG(1, 2))
	for c.Bytes() < 64<<20 {
		v := fmt.Appendf(nil, "%012x%012x", r.Uint64()>>16, r.Uint64()>>16)
		if few {
			v = fmt.Appendf(nil, "category-%d", r.IntN(20))
		}
		c.AppendBytes(&pool, v)
	}
	return c
}

func BenchmarkEncode(b *testing.B) {
	for _, bench := range []struct {
		name string
		c    *column.Column
	}{
		{"vector/gaussian", vectors64(false)}, {"vector/integers", vectors64(true)},
		{"int64/rising", int64s64(false)}, {"int64/random", int64s64(true)},
		{"varchar/random", strings64(false)}, {"varchar/few", strings64(true)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			var e Encoder
			b.SetBytes(bench.c.Bytes())
			b.ReportAllocs()
			var f *File
			for b.Loop() {
				var err error
				if f, err = e.Encode(meta, bench.c); err != nil {
					b.Fatal(err)
				}
				f.Free()
			}
			b.ReportMetric(float64(bench.c.Bytes())/float64(f.Size), "x")
		})
	}
}

// BenchmarkMemcpy is what the others are held against.
func BenchmarkMemcpy(b *testing.B) {
	src, dst := bytes.Repeat([]byte{1}, 64<<20), make([]byte, 64<<20)
	b.SetBytes(64 << 20)
	for b.Loop() {
		copy(dst, src)
	}
}

// BenchmarkVectorCodecs is where worthwhile comes from.
func BenchmarkVectorCodecs(b *testing.B) {
	arrow, err := compress.GetCodec(compress.Codecs.Zstd)
	if err != nil {
		b.Fatal(err)
	}
	ours, err := newZstd()
	if err != nil {
		b.Fatal(err)
	}
	literals, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1), zstd.WithAllLitEntropyCompression(true))
	if err != nil {
		b.Fatal(err)
	}
	for _, integers := range []bool{false, true} {
		page := vectors64(integers).Pages[3].Data
		for name, encode := range map[string]func([]byte, []byte) []byte{
			"ours":     func(dst, src []byte) []byte { return ours.EncodeAll(src, dst[:0]) },
			"literals": func(dst, src []byte) []byte { return literals.EncodeAll(src, dst[:0]) },
			"arrow3":   func(dst, src []byte) []byte { return arrow.EncodeLevel(dst, src, 3) },
		} {
			b.Run(fmt.Sprintf("%s/integers=%t", name, integers), func(b *testing.B) {
				b.SetBytes(int64(len(page)))
				out := make([]byte, 0, 2*len(page))
				for b.Loop() {
					out = encode(out, page)
				}
				b.ReportMetric(float64(len(page))/float64(len(out)), "x")
			})
		}
	}
}

func BenchmarkEncodeDeltas(b *testing.B) {
	var e Encoder
	keys := int64s64(true)
	times := int64s64(false)
	b.SetBytes(keys.Bytes() + times.Bytes())
	b.ReportAllocs()
	for b.Loop() {
		f, err := e.EncodeDeltas(meta, keys, times)
		if err != nil {
			b.Fatal(err)
		}
		f.Free()
	}
}

func BenchmarkRead(b *testing.B) {
	for name, c := range map[string]*column.Column{"vector": vectors64(false), "int64": int64s64(false), "varchar": strings64(false)} {
		var e Encoder
		f := mustEncode(b, &e, c)
		raw := joined(f)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(c.Bytes())
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Read(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkKeyStats is a million keys a turn.
func BenchmarkKeyStats(b *testing.B) {
	for _, kind := range []FilterKind{BlockedFilter, BasicFilter} {
		for _, texts := range []bool{false, true} {
			keys := someKeys(1_000_000, false)
			if texts {
				keys = column.New(column.Field{ID: 100, Type: schemapb.DataType_VarChar})
				var pool column.Pool
				for i := range 1_000_000 {
					keys.AppendBytes(&pool, fmt.Appendf(nil, "key-%020d", i*7919%1_000_000))
				}
			}
			b.Run(fmt.Sprintf("kind=%d/texts=%t", kind, texts), func(b *testing.B) {
				var e Encoder
				b.SetBytes(keys.Bytes())
				b.ReportAllocs()
				for b.Loop() {
					f, err := e.EncodeKeyStats(keys, kind)
					if err != nil {
						b.Fatal(err)
					}
					f.Free()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(keys.Rows), "ns/key")
			})
		}
	}
}
