package export

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/proto"

	"flowgraph/internal/archive"
	"flowgraph/stages/column"
)

// sample is one column: its field, three values with a null between two, and
// how it is read: the values as JSON, the type of each reader. A vector that
// is not nullable is of fixed size for the reader that knows of such.
type sample struct {
	field           column.Field
	values          [3][]byte
	first, last     string
	pyarrow, duckdb string
}

// second is how the value in the middle is read.
func (s *sample) second() string {
	if s.field.Nullable {
		return "null"
	}
	return s.first
}

func le32(v ...uint32) (out []byte) {
	for _, x := range v {
		out = binary.LittleEndian.AppendUint32(out, x)
	}
	return out
}

func le64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

func floats(v ...float32) (out []byte) {
	for _, x := range v {
		out = append(out, le32(math.Float32bits(x))...)
	}
	return out
}

func scalars(t *testing.T, pb *schemapb.ScalarField) []byte {
	t.Helper()
	raw, err := proto.Marshal(pb)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func samples(t *testing.T, nullable bool) []sample {
	ints := func(v ...int32) []byte {
		return scalars(t, &schemapb.ScalarField{Data: &schemapb.ScalarField_IntData{IntData: &schemapb.IntArray{Data: v}}})
	}
	texts := func(v ...string) []byte {
		return scalars(t, &schemapb.ScalarField{Data: &schemapb.ScalarField_StringData{StringData: &schemapb.StringArray{Data: v}}})
	}
	list := []sample{
		{column.Field{Type: schemapb.DataType_Bool}, [3][]byte{{1}, nil, {0}}, "true", "false", "bool", "BOOLEAN"},
		{column.Field{Type: schemapb.DataType_Int8}, [3][]byte{le32(127), nil, le32(0xffffff80)}, "127", "-128", "int8", "TINYINT"},
		{column.Field{Type: schemapb.DataType_Int16}, [3][]byte{le32(32767), nil, le32(0xffff8000)}, "32767", "-32768", "int16", "SMALLINT"},
		{column.Field{Type: schemapb.DataType_Int32}, [3][]byte{le32(1), nil, le32(1 << 31)}, "1", "-2147483648", "int32", "INTEGER"},
		{column.Field{Type: schemapb.DataType_Int64}, [3][]byte{le64(math.MaxInt64), nil, le64(1 << 63)}, "9223372036854775807", "-9223372036854775808", "int64", "BIGINT"},
		{column.Field{Type: schemapb.DataType_Float}, [3][]byte{floats(0.5), nil, floats(float32(math.Inf(-1)))}, "0.5", `"-inf"`, "float", "FLOAT"},
		{column.Field{Type: schemapb.DataType_Double}, [3][]byte{le64(math.Float64bits(0.1)), nil, le64(1)}, "0.1", "5e-324", "double", "DOUBLE"},
		{column.Field{Type: schemapb.DataType_VarChar}, [3][]byte{[]byte("naïve 蓝"), nil, {}}, `"naïve 蓝"`, `""`, "string", "VARCHAR"},
		{column.Field{Type: schemapb.DataType_Text}, [3][]byte{[]byte("a\xffb"), nil, []byte("x")}, "\"a\uFFFDb\"", `"x"`, "string", "VARCHAR"},
		{column.Field{Type: schemapb.DataType_JSON}, [3][]byte{[]byte(`{"a": [1]}`), nil, []byte("7")}, `"{\"a\": [1]}"`, `"7"`, "string", "VARCHAR"},
		{column.Field{Type: schemapb.DataType_Geometry}, [3][]byte{{1, 2, 255}, nil, {}}, `"0102ff"`, `""`, "binary", "BLOB"},
		{column.Field{Type: schemapb.DataType_Timestamptz}, [3][]byte{le64(1700000000123456), nil, le64(0)},
			`"2023-11-14T22:13:20.123456+00:00"`, `"1970-01-01T00:00:00+00:00"`, "timestamp[us, tz=UTC]", "TIMESTAMP WITH TIME ZONE"},
		{column.Field{Type: schemapb.DataType_Array, Element: schemapb.DataType_Int16}, [3][]byte{ints(-3, 4), nil, {}}, "[-3,4]", "[]", "list<element: int16 not null>", "SMALLINT[]"},
		{column.Field{Type: schemapb.DataType_Array, Element: schemapb.DataType_VarChar}, [3][]byte{texts("", "é"), nil, texts("z")}, `["","é"]`, `["z"]`, "list<element: string not null>", "VARCHAR[]"},
		{column.Field{Type: schemapb.DataType_FloatVector, Dim: 2}, [3][]byte{floats(0.25, -2), nil, floats(1, 0)}, "[0.25,-2.0]", "[1.0,0.0]", "list<element: float not null>", "FLOAT[]"},
		{column.Field{Type: schemapb.DataType_BinaryVector, Dim: 16}, [3][]byte{{1, 255}, nil, {0, 128}}, "[1,255]", "[0,128]", "list<element: uint8 not null>", "UTINYINT[]"},
		{column.Field{Type: schemapb.DataType_Float16Vector, Dim: 2}, [3][]byte{{0, 0x3c, 1, 0}, nil, {0, 0xfc, 0xff, 0x7b}}, "[1.0,5.960464477539063e-08]", `["-inf",65504.0]`, "list<element: float not null>", "FLOAT[]"},
		{column.Field{Type: schemapb.DataType_BFloat16Vector, Dim: 2}, [3][]byte{{0x80, 0x3f, 0x20, 0xc1}, nil, {0, 0, 0x80, 0x7f}}, "[1.0,-10.0]", `[0.0,"inf"]`, "list<element: float not null>", "FLOAT[]"},
		{column.Field{Type: schemapb.DataType_Int8Vector, Dim: 3}, [3][]byte{{1, 0x80, 0x7f}, nil, {0, 0, 0}}, "[1,-128,127]", "[0,0,0]", "list<element: int8 not null>", "TINYINT[]"},
		{column.Field{Type: schemapb.DataType_SparseFloatVector}, [3][]byte{append(le32(4294967295), floats(0.5)...), nil, {}}, `[{"index":4294967295,"value":0.5}]`, "[]",
			"list<element: struct<index: uint32 not null, value: float not null> not null>", `STRUCT("index" UINTEGER, "value" FLOAT)[]`},
	}
	for i := range list {
		s := &list[i]
		s.field.ID, s.field.Nullable = int64(100+i), nullable
		s.field.Name = s.field.Type.String() + s.field.Element.String()
		if nullable {
			continue
		}
		s.values[1] = s.values[0]
		if isVector(s.field.Type) {
			n := strings.Count(s.first, ",") + 1
			s.pyarrow = fmt.Sprintf("fixed_size_%s[%d]", s.pyarrow, n)
		}
	}
	return list
}

// writeSamples writes a file of three rows.
func writeSamples(t *testing.T, list []sample) string {
	t.Helper()
	var fields []archive.LiveField
	for _, s := range list {
		fields = append(fields, archive.LiveField{Field: s.field})
	}
	schema, err := schemaOf(fields, func(int64) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "it's.parquet")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	f, err := newFile(&counter{w: out}, schema, fields, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		var row archive.Row
		for _, s := range list {
			row.Values = append(row.Values, s.values[i])
		}
		if err := f.append(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPythonReadsEveryTypeAndItsNulls(t *testing.T) {
	for _, nullable := range []bool{true, false} {
		comparePython(t, samples(t, nullable))
	}
}

func comparePython(t *testing.T, list []sample) {
	t.Helper()
	for reader, read := range ReadByPython(t, writeSamples(t, list)) {
		if len(read.Rows) != 3 {
			t.Fatalf("%s reads %d rows", reader, len(read.Rows))
		}
		for _, s := range list {
			want := s.pyarrow
			if reader == "duckdb" {
				want = s.duckdb
			}
			if got := read.Types[s.field.Name]; got != want {
				t.Errorf("%s: %s is of type %s, want %s", reader, s.field.Name, got, want)
			}
			for i, want := range []string{s.first, s.second(), s.last} {
				got, err := json.Marshal(read.Rows[i][s.field.Name])
				if err != nil {
					t.Fatal(err)
				}
				if string(got) != want {
					t.Errorf("%s: %s of row %d is %s, want %s", reader, s.field.Name, i, got, want)
				}
			}
		}
	}
}

// The same without Python, so that it is held wherever Go is.
func TestEveryTypeAndItsNullsAreReadBack(t *testing.T) {
	for _, nullable := range []bool{true, false} {
		compareOwn(t, samples(t, nullable))
	}
}

func compareOwn(t *testing.T, list []sample) {
	t.Helper()
	in, err := os.Open(writeSamples(t, list))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	table, err := pqarrow.ReadTable(t.Context(), in, parquet.NewReaderProperties(memory.NewGoAllocator()), pqarrow.ArrowReadProperties{}, memory.NewGoAllocator())
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range list {
		c := table.Column(i).Data().Chunk(0)
		if c.Len() != 3 || c.IsNull(1) != s.field.Nullable || c.IsNull(0) || c.IsNull(2) {
			t.Errorf("%s: %s", s.field.Name, c)
		}
		switch s.field.Type { // what JSON of this library writes otherwise
		case schemapb.DataType_Float, schemapb.DataType_Geometry, schemapb.DataType_Timestamptz, schemapb.DataType_Float16Vector, schemapb.DataType_BFloat16Vector:
			continue
		}
		got, err := c.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var have, want any
		if json.Unmarshal(got, &have) != nil || json.Unmarshal([]byte("["+s.first+","+s.second()+","+s.last+"]"), &want) != nil {
			t.Fatalf("%s: %s", s.field.Name, got)
		}
		x, _ := json.Marshal(have)
		y, _ := json.Marshal(want)
		if string(x) != string(y) {
			t.Errorf("%s: %s, want %s", s.field.Name, x, y)
		}
	}
}

func TestHalfPrecisionIsWidenedExactly(t *testing.T) {
	for h := range 1 << 16 {
		got := math.Float32frombits(widen(uint16(h)))
		sign := 1.0
		if h>>15 == 1 {
			sign = -1
		}
		exponent, fraction := h>>10&31, float64(h&1023)
		want := math.Ldexp(1+fraction/1024, exponent-15)
		switch exponent {
		case 0:
			want = math.Ldexp(fraction, -24)
		case 31:
			want = math.Inf(1)
			if fraction != 0 {
				want = math.NaN()
			}
		}
		want *= sign
		if float64(got) != want && !(math.IsNaN(want) && got != got) || math.Signbit(float64(got)) != (h>>15 == 1) {
			t.Fatalf("%04x is %v, want %v", h, got, want)
		}
	}
}
