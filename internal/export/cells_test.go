package export_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// rowTexts writes every row as JSON with sorted names, floats by their bits.
func rowTexts(t *testing.T, table arrow.Table) []string {
	t.Helper()
	var out []string
	r := array.NewTableReader(table, 0)
	defer r.Release()
	for r.Next() {
		batch := r.RecordBatch()
		for i := range int(batch.NumRows()) {
			row := map[string]any{}
			for c := range int(batch.NumCols()) {
				name, v := batch.ColumnName(c), cell(t, batch.Column(c), i)
				if name == "$meta" && v != nil { // Milvus answers its keys beside the fields
					for k, v := range v.(map[string]any) {
						row[k] = v
					}
					continue
				}
				row[name] = v
			}
			out = append(out, canonical(t, row))
		}
	}
	return out
}

// cell is a value as it is compared: JSON parsed, floats by their bits.
func cell(t *testing.T, a arrow.Array, i int) any {
	t.Helper()
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.Boolean:
		return a.Value(i)
	case *array.Int8:
		return number(a.Value(i))
	case *array.Int16:
		return number(a.Value(i))
	case *array.Int32:
		return number(a.Value(i))
	case *array.Int64:
		return number(a.Value(i))
	case *array.Uint8:
		return number(a.Value(i))
	case *array.Uint64:
		return number(a.Value(i))
	case *array.Float32:
		return fmt.Sprintf("float %08x", math.Float32bits(a.Value(i)))
	case *array.Float64:
		return fmt.Sprintf("double %016x", math.Float64bits(a.Value(i)))
	case *array.String:
		var v any
		if text := a.Value(i); strings.HasPrefix(text, "{") {
			if err := newDecoder(strings.NewReader(text)).Decode(&v); err != nil {
				t.Fatal(err)
			}
			return v
		}
		return a.Value(i)
	case *array.List:
		return list(t, a, i)
	case *array.FixedSizeList:
		return list(t, a, i)
	}
	t.Fatalf("a column of %s", a.DataType())
	return nil
}

func list(t *testing.T, a array.ListLike, i int) any {
	out := []any{}
	from, to := a.ValueOffsets(i)
	for at := from; at < to; at++ {
		out = append(out, cell(t, a.ListValues(), int(at)))
	}
	return out
}

func number[T int8 | int16 | int32 | int64 | uint8 | uint64](v T) json.Number {
	return json.Number(fmt.Sprint(v))
}

func canonical(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// like gives an answered value the form of cell, by the column's type.
func like(t *testing.T, field arrow.DataType, v any) any {
	t.Helper()
	switch field.ID() {
	case arrow.FLOAT32:
		f, err := strconv.ParseFloat(v.(json.Number).String(), 64)
		if err != nil {
			t.Fatal(err)
		}
		if float64(float32(f)) != f {
			t.Fatalf("%v is no float32", v)
		}
		return fmt.Sprintf("float %08x", math.Float32bits(float32(f)))
	case arrow.FLOAT64:
		f, err := strconv.ParseFloat(v.(json.Number).String(), 64)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("double %016x", math.Float64bits(f))
	case arrow.LIST, arrow.FIXED_SIZE_LIST:
		element := field.(arrow.ListLikeType).Elem()
		values := v.([]any)
		if element.ID() == arrow.UINT8 { // [hex]
			raw, err := hex.DecodeString(values[0].(string))
			if err != nil {
				t.Fatal(err)
			}
			values = nil
			for _, b := range raw {
				values = append(values, number(b))
			}
			return values
		}
		out := []any{}
		for _, e := range values {
			out = append(out, like(t, element, e))
		}
		return out
	}
	return v
}
