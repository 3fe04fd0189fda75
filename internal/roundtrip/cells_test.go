package roundtrip

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"flowgraph/stages/column"
)

// cells are the values of one field of one message.
type cells struct {
	scalars *schemapb.ScalarField
	vectors *schemapb.VectorField
	valid   []bool
	want    [][]byte // as the archive gives them back; nil is a null
}

// draw draws n values. Null rows hold a placeholder on the wire.
func (c *cells) draw(t *rapid.T, f *field, n int, nulls bool) {
	if f.pb.GetDataType() >= schemapb.DataType_BinaryVector {
		c.vector(t, f, n)
		return
	}
	if nulls {
		c.valid = rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "valid")
	}
	null := func(i int) bool { return nulls && !c.valid[i] }
	if f.pb.GetDataType() == schemapb.DataType_Array {
		c.arrays(t, f, n, null)
	} else {
		c.scalars, c.want = scalarsOf(t, f.pb.GetDataType(), n, null)
	}
	for i := range c.want {
		if null(i) {
			c.want[i] = nil
		}
	}
}

func (c *cells) arrays(t *rapid.T, f *field, n int, null func(int) bool) {
	a := &schemapb.ArrayArray{ElementType: f.pb.GetElementType()}
	for i := range n {
		row := &schemapb.ScalarField{}
		if !null(i) {
			row, _ = scalarsOf(t, f.pb.GetElementType(), rapid.IntRange(0, 4).Draw(t, "elements"), func(int) bool { return false })
		}
		a.Data = append(a.Data, row)
		raw, err := proto.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		c.want = append(c.want, append([]byte{}, raw...))
	}
	c.scalars = &schemapb.ScalarField{Data: &schemapb.ScalarField_ArrayData{ArrayData: a}}
}

// numbers draws n numbers; a null one is 0.
func numbers[T any](t *rapid.T, g *rapid.Generator[T], n int, null func(int) bool, put func(T) []byte) (values []T, want [][]byte) {
	for i := range n {
		var v T
		if !null(i) {
			v = g.Draw(t, "value")
		}
		values, want = append(values, v), append(want, put(v))
	}
	return values, want
}

func scalarsOf(t *rapid.T, kind schemapb.DataType, n int, null func(int) bool) (*schemapb.ScalarField, [][]byte) {
	le := binary.LittleEndian
	four := func(v int32) []byte { return le.AppendUint32(nil, uint32(v)) }
	eight := func(v int64) []byte { return le.AppendUint64(nil, uint64(v)) }
	bits := map[schemapb.DataType]int32{schemapb.DataType_Int8: math.MaxInt8, schemapb.DataType_Int16: math.MaxInt16, schemapb.DataType_Int32: math.MaxInt32}
	switch kind {
	case schemapb.DataType_Bool:
		v, want := numbers(t, rapid.Bool(), n, null, func(v bool) []byte {
			if v {
				return []byte{1}
			}
			return []byte{0}
		})
		return &schemapb.ScalarField{Data: &schemapb.ScalarField_BoolData{BoolData: &schemapb.BoolArray{Data: v}}}, want
	case schemapb.DataType_Int8, schemapb.DataType_Int16, schemapb.DataType_Int32:
		v, want := numbers(t, rapid.Int32Range(-bits[kind]-1, bits[kind]), n, null, four)
		return &schemapb.ScalarField{Data: &schemapb.ScalarField_IntData{IntData: &schemapb.IntArray{Data: v}}}, want
	case schemapb.DataType_Int64:
		v, want := numbers(t, rapid.Int64(), n, null, eight)
		return &schemapb.ScalarField{Data: &schemapb.ScalarField_LongData{LongData: &schemapb.LongArray{Data: v}}}, want
	case schemapb.DataType_Timestamptz:
		v, want := numbers(t, rapid.Int64(), n, null, eight)
		return &schemapb.ScalarField{Data: &schemapb.ScalarField_TimestamptzData{TimestamptzData: &schemapb.TimestamptzArray{Data: v}}}, want
	case schemapb.DataType_Float:
		v, want := numbers(t, rapid.Map(rapid.Uint32(), math.Float32frombits), n, null, func(v float32) []byte { return le.AppendUint32(nil, math.Float32bits(v)) })
		return &schemapb.ScalarField{Data: &schemapb.ScalarField_FloatData{FloatData: &schemapb.FloatArray{Data: v}}}, want
	case schemapb.DataType_Double:
		v, want := numbers(t, rapid.Map(rapid.Uint64(), math.Float64frombits), n, null, func(v float64) []byte { return le.AppendUint64(nil, math.Float64bits(v)) })
		return &schemapb.ScalarField{Data: &schemapb.ScalarField_DoubleData{DoubleData: &schemapb.DoubleArray{Data: v}}}, want
	}
	return textsOf(t, kind, n, null)
}

func textsOf(t *rapid.T, kind schemapb.DataType, n int, null func(int) bool) (*schemapb.ScalarField, [][]byte) {
	text := func(v string) []byte { return append([]byte{}, v...) }
	switch kind {
	case schemapb.DataType_JSON:
		json := rapid.SampledFrom([]string{"{}", `{"a":[1,null]}`, `"x"`, "0.1", "not even JSON", "", `{"a":"` + strings.Repeat("é", 40_000) + `"}`})
		v, want := numbers(t, rapid.Map(json, text), n, null, bytes.Clone)
		return &schemapb.ScalarField{Data: &schemapb.ScalarField_JsonData{JsonData: &schemapb.JSONArray{Data: v}}}, want
	case schemapb.DataType_Geometry:
		v, want := numbers(t, blobs(), n, null, bytes.Clone)
		return &schemapb.ScalarField{Data: &schemapb.ScalarField_GeometryData{GeometryData: &schemapb.GeometryArray{Data: v}}}, want
	}
	v, want := numbers(t, texts(), n, null, text)
	return &schemapb.ScalarField{Data: &schemapb.ScalarField_StringData{StringData: &schemapb.StringArray{Data: v}}}, want
}

// texts are short, seldom none, and now and then larger than a page.
func texts() *rapid.Generator[string] {
	long := func(sizes ...int) *rapid.Generator[string] {
		return rapid.Map(rapid.SampledFrom(sizes), func(n int) string { return strings.Repeat("x", n) })
	}
	short := rapid.String()
	return rapid.OneOf(short, short, short, short, short, short, short, rapid.Just(""), long(65_535, 300_000, column.MaxPage-4, column.MaxPage, 2*column.MaxPage))
}

// blobs are bytes that are seldom none and sometimes many.
func blobs() *rapid.Generator[[]byte] {
	return rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 40), rapid.Map(rapid.IntRange(0, 100_000), func(n int) []byte { return make([]byte, n) }))
}

// noise is n bytes, drawn one by one while they are few.
func noise(t *rapid.T, n int) []byte {
	if n < 200 {
		return rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "bytes")
	}
	out := make([]byte, n)
	source := rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)
	for i := range out {
		out[i] = byte(source.Uint64())
	}
	return out
}

func (c *cells) vector(t *rapid.T, f *field, n int) {
	raw := func(width int) []byte {
		all := noise(t, n*width)
		for i := range n {
			c.want = append(c.want, all[i*width:(i+1)*width])
		}
		return all
	}
	c.vectors = &schemapb.VectorField{Dim: int64(f.dim)}
	switch f.pb.GetDataType() {
	case schemapb.DataType_FloatVector:
		var floats []float32
		for b := raw(4 * f.dim); len(b) > 0; b = b[4:] {
			floats = append(floats, math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
		c.vectors.Data = &schemapb.VectorField_FloatVector{FloatVector: &schemapb.FloatArray{Data: floats}}
	case schemapb.DataType_BinaryVector:
		c.vectors.Data = &schemapb.VectorField_BinaryVector{BinaryVector: raw(f.dim / 8)}
	case schemapb.DataType_Float16Vector:
		c.vectors.Data = &schemapb.VectorField_Float16Vector{Float16Vector: raw(2 * f.dim)}
	case schemapb.DataType_BFloat16Vector:
		c.vectors.Data = &schemapb.VectorField_Bfloat16Vector{Bfloat16Vector: raw(2 * f.dim)}
	case schemapb.DataType_Int8Vector:
		c.vectors.Data = &schemapb.VectorField_Int8Vector{Int8Vector: raw(f.dim)}
	case schemapb.DataType_SparseFloatVector:
		sparse := &schemapb.SparseFloatArray{Dim: 1 << 20}
		for range n {
			row := noise(t, rapid.SampledFrom([]int{0, 1, 2, 5, 3000}).Draw(t, "indices"))
			var pairs []byte
			for i, v := range row {
				pairs = binary.LittleEndian.AppendUint32(pairs, uint32(i*1000))
				pairs = binary.LittleEndian.AppendUint32(pairs, math.Float32bits(float32(v)))
			}
			sparse.Contents = append(sparse.Contents, pairs)
			c.want = append(c.want, append([]byte{}, pairs...))
		}
		c.vectors.Data = &schemapb.VectorField_SparseFloatVector{SparseFloatVector: sparse}
	}
}
