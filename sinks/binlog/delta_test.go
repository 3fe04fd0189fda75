package binlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/stages/column"
)

func deltaColumns(kind column.Type, keys [][]byte, ts []uint64) (*column.Column, *column.Column) {
	var pool column.Pool
	k, t := column.New(keyField(kind)), column.New(timestampField)
	for i, key := range keys {
		if kind == schemapb.DataType_Int64 {
			k.AppendFixed(&pool, key)
		} else {
			k.AppendBytes(&pool, key)
		}
		t.AppendFixed(&pool, binary.LittleEndian.AppendUint64(nil, ts[i]))
	}
	return k, t
}

// A delete whose key or time changes on the way brings a row back to life.
func TestDeltasRoundTrip(t *testing.T) {
	var e Encoder
	texts := [][]byte{[]byte(""), []byte("a,b"), []byte("q\"uo\\te"), []byte("line\nfeed\x00\x1f"), []byte("é\u2028<&>"), []byte(`{"pk":1}`), []byte("12")}
	var ints, names [][]byte
	var ts []uint64
	for i := range 100_000 {
		ints = append(ints, binary.LittleEndian.AppendUint64(nil, uint64(i)*0x9e3779b97f4a7c15))
		names = append(names, append(fmt.Appendf(nil, "%d-", i), texts[i%len(texts)]...))
		ts = append(ts, ^uint64(0)-uint64(i))
	}
	for _, tt := range []struct {
		kind column.Type
		keys [][]byte
	}{{schemapb.DataType_Int64, ints}, {schemapb.DataType_Int64, ints[:1]}, {schemapb.DataType_Int64, nil}, {schemapb.DataType_VarChar, texts}, {schemapb.DataType_VarChar, names}} {
		keys, times := deltaColumns(tt.kind, tt.keys, ts)
		f, err := e.EncodeDeltas(meta, keys, times)
		if err != nil {
			t.Fatal(err)
		}
		if f.Borrowed || f.Rows != len(tt.keys) {
			t.Errorf("borrowed %t, %d rows of %d", f.Borrowed, f.Rows, len(tt.keys))
		}
		d, err := ReadDeltas(joined(f))
		if err != nil {
			t.Fatal(err)
		}
		sameRows(t, keys, d.Keys)
		sameRows(t, times, d.Timestamps)
		f.Free()
	}
}

// Milvus reads the rows as text, so the text must be the same.
func TestDeltaLayoutIsThatOfMilvus(t *testing.T) {
	var e Encoder
	first := map[string]string{
		"json-int64": `{"pk":-20,"ts":445644800000001000,"pkType":5}`, "json-varchar": `{"pk":"id-000003","ts":445644800000000005,"pkType":21}`,
		"deletecodec-int64": `{"pk":-20,"ts":445644800000001000,"pkType":5}`,
	}
	for _, f := range goldenLogs(t, "v1-delta") {
		kind := strings.Split(strings.TrimPrefix(f.key, golden+"/v1-delta/"), "/")[0]
		if first[kind] == "" {
			continue // Parquet, which we only read: an import per segment cannot
		}
		want := mustRead(t, f)
		if kind == "deletecodec-int64" { // older: another name, and real times
			want.Parquet.Column = "delta"
		}
		d := want.Descriptor
		ours, err := e.EncodeDeltas(Meta{d.Collection, d.Partition, d.Segment, d.MinTS, d.MaxTS}, want.Deltas.Keys, want.Deltas.Timestamps)
		if err != nil {
			t.Fatal(err)
		}
		got := mustRead(t, logFile{key: "ours", bytes: joined(ours), collection: f.collection, partition: f.partition, segment: f.segment, field: -1})
		want.Data.MinTS, want.Data.MaxTS = got.Data.MinTS, got.Data.MaxTS // 1 in files of the stream writer; a row's here
		if w, g := layout(want), layout(got); w != g {
			t.Errorf("got  %s\nwant %s", g, w)
		}
		if w, g := node(t, want.Payload), node(t, got.Payload); w != g {
			t.Errorf("got  %s\nwant %s", g, w)
		}
		if a, b := deltaText(t, want), deltaText(t, got); !slices.Equal(a, b) || a[0] != strconv.Quote(first[kind]) {
			t.Errorf("rows %v, want %v", b, a)
		}
	}
}

func deltaText(t *testing.T, log *Log) []string {
	t.Helper()
	p, err := openPayload(log.Payload)
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.column(0, column.Field{Type: schemapb.DataType_String})
	if err != nil {
		t.Fatal(err)
	}
	return lines(t, c)
}

func TestDeletesThatCannotBeRenderedAreRefused(t *testing.T) {
	var e Encoder
	ts := []uint64{1, 2}
	keys, times := deltaColumns(schemapb.DataType_VarChar, [][]byte{[]byte("ok"), {0xff}}, ts)
	if _, err := e.EncodeDeltas(meta, keys, times); !errors.Is(err, ErrCorrupt) {
		t.Errorf("key that is no text: %v", err)
	}
	keys, _ = deltaColumns(schemapb.DataType_VarChar, [][]byte{[]byte("one")}, ts)
	if _, err := e.EncodeDeltas(meta, keys, times); !errors.Is(err, ErrCorrupt) {
		t.Errorf("one key, two timestamps: %v", err)
	}
	if _, err := e.EncodeDeltas(meta, fill(types[0], 2, 0, 1), times); !errors.Is(err, ErrUnsupported) {
		t.Errorf("keys of type bool: %v", err)
	}
}

// Text rows come in more forms than the one that is read fast.
func TestDeltaTextForms(t *testing.T) {
	for row, want := range map[string]string{
		`{"pk":-20,"ts":7,"pkType":5}`:         "-20 7",
		`{ "ts": 7, "pk": -20, "pkType": 5 }`:  "-20 7",
		`-20,7`:                                "-20 7",
		`{"pk":"7","ts":8,"pkType":21}`:        `"7" 8`,
		`{"pk":"\u0041,1","ts":8,"pkType":21}`: `"A,1" 8`,
		`{"pk":"7","ts":8,"pkType":5}`:         "",
		`{"pk":7,"ts":8,"pkType":21}`:          "",
		`{"pk":7,"ts":-8,"pkType":5}`:          "",
		`{"pk":7,"ts":8}`:                      "",
		`7;8`:                                  "",
		``:                                     "",
		`{"pk":9223372036854775808,"ts":8,"pkType":5}`: "",
	} {
		var d textDeltas
		err := d.add([]byte(row))
		got := ""
		if err == nil {
			got = lines(t, d.keys)[0] + " " + lines(t, d.times)[0]
		} else if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", row, err)
		}
		if got != want {
			t.Errorf("%s: %q, want %q (%v)", row, got, want, err)
		}
	}
}
