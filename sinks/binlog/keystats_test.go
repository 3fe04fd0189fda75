package binlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/stages/column"
)

// A filter that says yes to everything is correct and useless.
func TestFiltersHoldTheirKeysAndFewOthers(t *testing.T) {
	const n = 20000
	for _, kind := range []FilterKind{BlockedFilter, BasicFilter} {
		keys := someKeys(n, false)
		got, err := ReadKeyStats(mustEncodeStats(t, keys, kind, falsePositives))
		if err != nil || len(got) != 1 || got[0].Kind != kind {
			t.Fatalf("%+v, %v", got, err)
		}
		s := &got[0]
		holdsAll(t, s, keys)
		wrong := 0
		for i := range n {
			key := int64(i)*1000003 - 500000 + 1 // between the keys
			if s.MayHold(binary.LittleEndian.AppendUint64(nil, uint64(key))) {
				wrong++
			}
		}
		if wrong > 2*n/1000 {
			t.Errorf("kind %d: %d of %d false positives", kind, wrong, n)
		}
		for _, key := range []int64{-500001, n * 1000003} {
			if s.MayHold(binary.LittleEndian.AppendUint64(nil, uint64(key))) {
				t.Errorf("kind %d: %d is out of bounds and may be there", kind, key)
			}
		}
		if s.MayHold([]byte("1234567")) {
			t.Error("a string may be there among numbers")
		}
	}
}

func TestBoundsSurviveAnyKey(t *testing.T) {
	var pool column.Pool
	c := column.New(column.Field{ID: 100, Type: schemapb.DataType_VarChar, PrimaryKey: true})
	long := bytes.Repeat([]byte("é\x00\"\\<"), 10000)
	for _, v := range [][]byte{[]byte("b"), long, {}, []byte("ab"), []byte("\U0010ffff")} {
		c.AppendBytes(&pool, v)
	}
	for _, kind := range []FilterKind{BlockedFilter, BasicFilter} {
		got, err := ReadKeyStats(mustEncodeStats(t, c, kind, falsePositives))
		if err != nil || string(got[0].Min) != "" || string(got[0].Max) != "\U0010ffff" {
			t.Fatalf("%.100v, %v", got, err)
		}
		holdsAll(t, &got[0], c)
	}
}

func TestKeysWithoutStatisticsAreRefused(t *testing.T) {
	var pool column.Pool
	null := someKeys(2, true)
	null.AppendNull(&pool)
	short := someKeys(3, false)
	short.Pages[0].Data = short.Pages[0].Data[:20]
	missing := someKeys(3, true)
	missing.Rows = 4
	text := column.New(column.Field{ID: 100, Type: schemapb.DataType_JSON, PrimaryKey: true})
	text.AppendBytes(&pool, []byte("{}"))
	var e Encoder
	for name, c := range map[string]struct {
		keys *column.Column
		want error
	}{
		"null": {null, ErrCorrupt}, "short": {short, ErrCorrupt}, "missing": {missing, ErrCorrupt},
		"none": {someKeys(0, false), ErrCorrupt}, "JSON": {text, ErrUnsupported},
	} {
		if f, err := e.EncodeKeyStats(c.keys, BlockedFilter); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v", name, f, err)
		}
		if c.keys.Field.HasKeyStats() == (name == "JSON") {
			t.Errorf("%s: wrongly announced", name)
		}
	}
}

// Keys come by the million; garbage for each would cost more than the filter.
func TestNoKeyCostsAnAllocation(t *testing.T) {
	var e Encoder
	for _, texts := range []bool{false, true} {
		keys := someKeys(50_000, texts)
		allocs := testing.AllocsPerRun(5, func() {
			f, err := e.EncodeKeyStats(keys, BlockedFilter)
			if err != nil {
				t.Fatal(err)
			}
			f.Free()
		})
		if allocs > 100 {
			t.Errorf("texts %t: %v allocations", texts, allocs)
		}
	}
}

// A damaged filter that is used all the same hides keys that are there.
func TestDamagedStatisticsAreRefused(t *testing.T) {
	blocked := string(mustEncodeStats(t, someKeys(40, false), BlockedFilter, falsePositives))
	basic := string(mustEncodeStats(t, someKeys(4, true), BasicFilter, falsePositives))
	for name, c := range map[string]struct {
		from, old, new string
		want           error
	}{
		"no filter":         {basic, `"bf":`, `"other":`, ErrCorrupt},
		"more bits":         {basic, `"m":58`, `"m":59`, ErrCorrupt},
		"no bits":           {basic, `"m":58`, `"m":0`, ErrCorrupt},
		"too many bits":     {basic, `"m":58`, `"m":18446744073709551615`, ErrCorrupt},
		"no hashes":         {basic, `"k":11`, `"k":0`, ErrCorrupt},
		"endless hashes":    {basic, `"k":11`, `"k":4000000000`, ErrCorrupt},
		"words of blocks":   {basic, `"bfType":3`, `"bfType":4`, ErrCorrupt},
		"blocks of words":   {blocked, `"bfType":4`, `"bfType":3`, ErrCorrupt},
		"endless blocks":    {blocked, `"k":18`, `"k":4000000000`, ErrCorrupt},
		"a block too short": {blocked, `"b":["`, `"b":["",""],"c":["`, ErrCorrupt},
		"no block":          {blocked, `"b":["`, `"b":[],"c":["`, ErrCorrupt},
		"not base64":        {blocked, `"b":["`, `"b":["!`, ErrCorrupt},
		"unknown filter":    {blocked, `"bfType":4`, `"bfType":1`, ErrUnsupported},
		"no bound":          {blocked, `"maxPk"`, `"max2"`, ErrCorrupt},
		"null bound":        {blocked, `"maxPk":`, `"maxPk":null,"x":`, ErrCorrupt},
		"bound of a string": {blocked, `"pkType":5`, `"pkType":21`, ErrCorrupt},
		"float keys":        {blocked, `"pkType":5`, `"pkType":10`, ErrCorrupt},
		// 72 bits need two words; 9 bytes are enough for the bits and one word.
		"half a word": {basic, `"bf":`, `"bf":{"m":72,"k":11,"b":"AAAAAAAAAEgAAAAAAAAAAAA="},"other":`, ErrCorrupt},
	} {
		damaged := strings.Replace(c.from, c.old, c.new, 1)
		if damaged == c.from {
			t.Errorf("%s: %s is not in %.200s", name, c.old, c.from)
		}
		for _, b := range []string{damaged, "[" + c.from + "," + damaged + "]"} {
			if s, err := ReadKeyStats([]byte(b)); !errors.Is(err, c.want) {
				t.Errorf("%s: %+v, %v", name, s, err)
			}
		}
	}
	for _, b := range []string{"", " ", "null", "{}", "[", "[{}]", "[null]", "5", `"a"`, blocked[:100], blocked + basic} {
		if s, err := ReadKeyStats([]byte(b)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%.50q: %+v, %v", b, s, err)
		}
	}
}

// Milvus writes no filter where it was told to, and 2.1 no type.
func TestStatisticsWithoutAFilterHoldEverythingInBounds(t *testing.T) {
	got, err := ReadKeyStats([]byte(`{"fieldID":100,"max":0,"min":0,"bfType":2,"bf":{},"pkType":21,"maxPk":"m","minPk":"b"}`))
	if err != nil || got[0].Kind != AlwaysTrue {
		t.Fatalf("%+v, %v", got, err)
	}
	for key, want := range map[string]bool{"a": false, "b": true, "car": true, "m": true, "n": false} {
		if got[0].MayHold([]byte(key)) != want {
			t.Errorf("%s: %t", key, !want)
		}
	}
	old, err := ReadKeyStats([]byte(`{"fieldID":100,"max":30,"min":10,"bf":{"m":44,"k":11,"b":"AAAAAAAAACwAAASUzWLP1A=="}}`))
	if err != nil || column.Int64(old[0].Max) != 30 || column.Int64(old[0].Min) != 10 {
		t.Fatalf("%+v, %v", old, err)
	}
	for _, key := range []uint64{10, 20, 30} {
		if !old[0].MayHold(binary.LittleEndian.AppendUint64(nil, key)) {
			t.Errorf("%d is not there", key)
		}
	}
}
