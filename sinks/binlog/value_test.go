package binlog

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/proto"

	"flowgraph/stages/column"
)

// What is exported as JSON must be JSON and give the same value back.
func TestValuesAsJSON(t *testing.T) {
	le := binary.LittleEndian
	f32 := func(v ...float32) (b []byte) {
		for _, v := range v {
			b = le.AppendUint32(b, math.Float32bits(v))
		}
		return b
	}
	array := func(s *schemapb.ScalarField) []byte {
		b, err := proto.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	field := func(k column.Type, dim int) column.Field { return column.Field{Type: k, Dim: dim} }
	for _, tt := range []struct {
		f    column.Field
		v    []byte
		want string
	}{
		{field(schemapb.DataType_Bool, 0), []byte{1}, "true"},
		{field(schemapb.DataType_Int8, 0), le.AppendUint32(nil, math.MaxUint32), "-1"},
		{field(schemapb.DataType_Int64, 0), le.AppendUint64(nil, 1<<63), "-9223372036854775808"},
		{field(schemapb.DataType_Float, 0), f32(0.1), "0.1"},
		{field(schemapb.DataType_Float, 0), f32(float32(math.Copysign(0, -1))), "-0.0"},
		{field(schemapb.DataType_Float, 0), f32(float32(math.NaN())), `"NaN"`},
		{field(schemapb.DataType_Double, 0), le.AppendUint64(nil, math.Float64bits(math.Inf(-1))), `"-Inf"`},
		{field(schemapb.DataType_VarChar, 0), []byte("a\"\\\n\x00é\xff"), `"a\"\\\u000a\u0000é�"`},
		{field(schemapb.DataType_JSON, 0), []byte(`{"a": 1}`), `{"a": 1}`},
		{field(schemapb.DataType_JSON, 0), []byte(`{"a"`), `"{\"a\""`},
		{field(schemapb.DataType_BinaryVector, 16), []byte{0, 0xa5}, `"00a5"`},
		{field(schemapb.DataType_FloatVector, 2), f32(1, -0.5), "[1,-0.5]"},
		{field(schemapb.DataType_Float16Vector, 4), []byte{0, 0x3c, 1, 0, 0, 0xfc, 0xff, 0x7b}, `[1,5.9604645e-08,"-Inf",65504]`},
		{field(schemapb.DataType_BFloat16Vector, 2), []byte{0x80, 0x3f, 0, 0xc0}, "[1,-2]"},
		{field(schemapb.DataType_Int8Vector, 2), []byte{0xff, 0x7f}, "[-1,127]"},
		{field(schemapb.DataType_SparseFloatVector, 0), append(le.AppendUint32(nil, math.MaxUint32), f32(2)...), `{"4294967295":2}`},
		{field(schemapb.DataType_SparseFloatVector, 0), nil, "{}"},
		{field(schemapb.DataType_Array, 0), nil, "[]"},
		{field(schemapb.DataType_Array, 0), array(&schemapb.ScalarField{Data: &schemapb.ScalarField_StringData{StringData: &schemapb.StringArray{Data: []string{"x", "\""}}}}), `["x","\""]`},
		{field(schemapb.DataType_Array, 0), array(&schemapb.ScalarField{Data: &schemapb.ScalarField_BoolData{BoolData: &schemapb.BoolArray{Data: []bool{true, false}}}}), `[true,false]`},
		{field(schemapb.DataType_Array, 0), array(&schemapb.ScalarField{Data: &schemapb.ScalarField_DoubleData{DoubleData: &schemapb.DoubleArray{Data: []float64{0.1, 1e300}}}}), `[0.1,1e+300]`},
	} {
		got, err := AppendJSON([]byte("x"), tt.f, tt.v, true)
		if err != nil || string(got) != "x"+tt.want || !json.Valid(got[1:]) {
			t.Errorf("%v %x: %s, want %s (%v)", tt.f.Type, tt.v, got[1:], tt.want, err)
		}
	}
	if got, err := AppendJSON(nil, field(schemapb.DataType_Int64, 0), nil, false); err != nil || string(got) != "null" {
		t.Errorf("null: %s, %v", got, err)
	}
	for _, f := range []column.Field{field(schemapb.DataType_Int64, 0), field(schemapb.DataType_SparseFloatVector, 0), field(schemapb.DataType_Array, 0), field(99, 0)} {
		if _, err := AppendJSON(nil, f, []byte{9, 9, 9}, true); !errors.Is(err, ErrCorrupt) {
			t.Errorf("three bytes as %v: %v", f.Type, err)
		}
	}
}

// TestHalf holds all 65,536 values against the definition, by way of float32.
func TestHalfOfEveryBitPattern(t *testing.T) {
	for bits := range 1 << 16 {
		b := uint16(bits)
		sign, exp, frac := 1.0, int(b>>10&31), float64(b&1023)/1024
		if b >= 1<<15 {
			sign = -1
		}
		got := half(b)
		switch {
		case exp == 31 && frac != 0:
			if !math.IsNaN(got) {
				t.Fatalf("%04x: %v", b, got)
			}
		case exp == 31:
			if !math.IsInf(got, int(sign)) {
				t.Fatalf("%04x: %v", b, got)
			}
		case exp == 0:
			if got != sign*frac*math.Pow(2, -14) {
				t.Fatalf("%04x: %v", b, got)
			}
		default:
			if got != sign*(1+frac)*math.Pow(2, float64(exp-15)) {
				t.Fatalf("%04x: %v", b, got)
			}
		}
	}
}
