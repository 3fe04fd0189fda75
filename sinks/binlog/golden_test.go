package binlog

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"flowgraph/stages/column"
)

// allTypes renders row i of golden segment 445600 by field ID; fields 113 and
// 114, of half precision, by their bytes.
func allTypes(field int64, i int) string {
	nullable := func(format string, args ...any) string {
		if i%3 == 1 {
			return "null"
		}
		return fmt.Sprintf(format, args...)
	}
	switch field {
	case 0:
		return fmt.Sprint(445700000 + i)
	case 1:
		return fmt.Sprint(445644800000000000 + []int64{0, 0, 0, 3, 3, 5}[i])
	case 100:
		return fmt.Sprint(10*i - 20)
	case 101:
		return fmt.Sprint(i%2 == 0)
	case 102:
		return fmt.Sprint(i - 3)
	case 103:
		return fmt.Sprint(300*i - 600)
	case 104:
		return fmt.Sprint(70000*i - 1)
	case 105:
		return fmt.Sprint(math.MinInt64 + i)
	case 106:
		return fmt.Sprintf("%d.25", i)
	case 107:
		return fmt.Sprintf("%v", float64(i)*1e100)
	case 108:
		return fmt.Sprintf(`"row-%d-é"`, i)
	case 109:
		return fmt.Sprintf(`{"i":%d,"s":"x"}`, i)
	case 110:
		return "[" + strings.Join([]string{fmt.Sprint(i), fmt.Sprint(-i), "5"}[:1+i%3], ",") + "]"
	case 111:
		return fmt.Sprintf("[%d,-1.5,0,%v]", i, float32(i)/3)
	case 112:
		return fmt.Sprintf(`"%02xa5"`, i)
	case 113:
		return fmt.Sprintf("003c00c0%02x000100", i)
	case 114:
		return fmt.Sprintf("803f00c0%02x00807f", i)
	case 115:
		return fmt.Sprintf(`{"1":0.5,"%d":2}`, 100+i)
	case 116:
		return nullable(`"n%d"`, i)
	case 117:
		return nullable("%d", i)
	case 118:
		return nullable("%v", float32(i)/2)
	case 119:
		return nullable("%t", i%2 == 1)
	case 120:
		return nullable(`{"k":%d}`, i)
	case 121:
		return nullable(`["a","%d"]`, i)
	}
	return "?"
}

// A log that is read by a wrong layout would give other values, not an error.
func TestReadGoldenRows(t *testing.T) {
	for _, folder := range []string{"v1-insertcodec-BlockedBloomFilter", "v1-insertcodec-BasicBloomFilter", "v1-streamwriter"} {
		next := map[int64]int{} // row by field
		for _, f := range goldenLogs(t, folder) {
			if f.segment != 445600 {
				continue
			}
			log := mustRead(t, f)
			all := lines(t, log.Rows)
			if f.field == 113 || f.field == 114 {
				all = all[:0]
				for v := range log.Rows.Values() {
					all = append(all, fmt.Sprintf("%x", v))
				}
			}
			for _, got := range all {
				if want := allTypes(f.field, next[f.field]); got != want {
					t.Errorf("%s: row %d is %s, want %s", f.key, next[f.field], got, want)
				}
				next[f.field]++
			}
		}
		for field, rows := range next {
			if rows != 6 && rows != 5 || len(next) != 24 {
				t.Errorf("%s: field %d has %d rows, %d fields", folder, field, rows, len(next))
			}
		}
	}
}

// mustRead reads an insert log and holds its head against its key.
func mustRead(t *testing.T, f logFile) *Log {
	t.Helper()
	log, err := Read(f.bytes)
	if err != nil {
		t.Fatalf("%s: %v", f.key, err)
	}
	d := log.Descriptor
	if d.Collection != f.collection || d.Partition != f.partition || d.Segment != f.segment || d.Field != f.field {
		t.Fatalf("%s: head says %d/%d/%d/%d", f.key, d.Collection, d.Partition, d.Segment, d.Field)
	}
	if log.Data.Type == InsertEvent && (log.Rows == nil || log.Rows.Field.ID != f.field || log.Deltas != nil) {
		t.Fatalf("%s: no rows of field %d", f.key, f.field)
	}
	if log.Data.Type == DeleteEvent && (log.Deltas == nil || log.Deltas.Keys.Rows != log.Deltas.Timestamps.Rows) {
		t.Fatalf("%s: no deletes", f.key)
	}
	return log
}

// Keys of text, and vectors that are wider than a few numbers.
func TestReadGoldenTexts(t *testing.T) {
	want := map[int64]func(i int) string{
		0:   func(i int) string { return fmt.Sprint(445800000 + i) },
		1:   func(int) string { return "445644800000000077" },
		100: func(i int) string { return fmt.Sprintf(`"id-%06d"`, i) },
		101: func(i int) string {
			return strings.ReplaceAll("[#,#.125,#.25,#.375,#.5,#.625,#.75,#.875]", "#", fmt.Sprint(i))
		},
	}
	for _, folder := range []string{"v1-insertcodec-BlockedBloomFilter", "v1-insertcodec-BasicBloomFilter"} {
		files := 0
		for _, f := range goldenLogs(t, folder) {
			if f.segment != 445601 {
				continue
			}
			files++
			got := lines(t, mustRead(t, f).Rows)
			for i := range got {
				if got[i] != want[f.field](i) {
					t.Errorf("%s: row %d is %s, want %s", f.key, i, got[i], want[f.field](i))
				}
			}
			if len(got) != 40 {
				t.Errorf("%s: %d rows", f.key, len(got))
			}
		}
		if files != 4 {
			t.Errorf("%s: %d files", folder, files)
		}
	}
}

func TestReadGoldenTypesOf26(t *testing.T) {
	const point = `"0101000000000000000000f03f0000000000000040"`
	want := map[int64][]string{
		0:   {"1", "2", "3"},
		1:   {"445644800000000000", "445644800000000000", "445644800000000001"},
		100: {"7", "8", "9"},
		104: {point, point, point},
		101: {"[1,-1,127,-128]", "[0,1,2,3]", "[-4,-5,-6,-7]"},
		102: {"1700000000000000", "0", "-1"},
		103: {"5", "null", "6"},
	}
	for _, f := range goldenLogs(t, "v1-insertcodec-2.6.9-types") {
		if got := lines(t, mustRead(t, f).Rows); !slices.Equal(got, want[f.field]) {
			t.Errorf("%s: %v, want %v", f.key, got, want[f.field])
		}
		delete(want, f.field)
	}
	if len(want) > 0 {
		t.Errorf("fields %v are not there", want)
	}
}

// Each of Milvus' three delta formats names keys in its own way.
func TestReadGoldenDeltas(t *testing.T) {
	ints := []string{"-20", "10", "445644800000001000", "445644800000001001"}
	texts := []string{`"id-000003"`, `"q\"uo\\te"`, "445644800000000005", "445644800000000006"}
	for _, f := range goldenLogs(t, "v1-delta") {
		d, err := ReadDeltas(f.bytes)
		if err != nil {
			t.Fatalf("%s: %v", f.key, err)
		}
		want := ints
		if strings.Contains(f.key, "varchar") {
			want = texts
		}
		if got := append(lines(t, d.Keys), lines(t, d.Timestamps)...); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", f.key, got, want)
		}
	}
}

// The files of one flush are zipped by index: a column that loses a row would
// shift all rows after it.
func TestReadRecordedLogs(t *testing.T) {
	files := 0
	for _, name := range []string{"all_types", "varchar_pk", "ddl", "upsert", "concurrent"} {
		rows := map[[2]int64]int{} // by segment and field
		for _, f := range recordedLogs(t, name) {
			log := mustRead(t, f)
			files++
			if log.Descriptor.MinTS > log.Descriptor.MaxTS || log.Data.Next != int32(len(f.bytes)) {
				t.Errorf("%s: %+v", f.key, log.Data)
			}
			if log.Rows == nil {
				lines(t, log.Deltas.Keys)
				continue
			}
			rows[[2]int64{f.segment, f.field}] += len(lines(t, log.Rows))
			if f.field == column.Timestamp {
				checkTimes(t, log)
			}
		}
		for at, n := range rows {
			if want := rows[[2]int64{at[0], column.RowID}]; n != want || n == 0 {
				t.Errorf("%s: segment %d field %d: %d rows of %d", name, at[0], at[1], n, want)
			}
		}
	}
	if files < 300 {
		t.Errorf("only %d files", files)
	}
}

// checkTimes holds the column of timestamps against the descriptor.
func checkTimes(t *testing.T, log *Log) {
	t.Helper()
	lo, hi := uint64(math.MaxUint64), uint64(0)
	for v := range log.Rows.Values() {
		lo, hi = min(lo, uint64(column.Int64(v))), max(hi, uint64(column.Int64(v)))
	}
	if lo != log.Descriptor.MinTS || hi != log.Descriptor.MaxTS {
		t.Errorf("segment %d: rows from %d to %d, descriptor %d to %d", log.Descriptor.Segment, lo, hi, log.Descriptor.MinTS, log.Descriptor.MaxTS)
	}
}
