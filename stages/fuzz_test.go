package stages_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/msgpb"

	"flowgraph/checkpoints"
	"flowgraph/stages"
)

// everyType is the creation of the collection whose rows the golden files hold.
func everyType(t testing.TB) stages.Record {
	t.Helper()
	raw, err := os.ReadFile("../testdata/golden/schema-alltypes.pb")
	if err != nil {
		t.Fatal(err)
	}
	return stages.Record{Value: marshal(&msgpb.CreateCollectionRequest{
		//lint:ignore SA1019 Milvus up to 2.5 fills this field
		Base: &commonpb.MsgBase{MsgType: commonpb.MsgType_CreateCollection}, CollectionID: 445566, Schema: raw})}
}

// Anybody may write into a topic. Whatever a record holds, it is taken, or it
// is a bad one, or the vchannel stops at it by a known error: never a panic,
// never a part of its rows, never much more memory than it has bytes.
func FuzzAnyRecord(f *testing.F) {
	for _, folder := range []string{"kafka-msgstream-2.5", "kafka-wal-2.6"} {
		files, err := filepath.Glob("../testdata/golden/" + folder + "/*.bin")
		if err != nil || len(files) == 0 {
			f.Fatal(len(files), err)
		}
		for i, name := range files {
			value, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(value, folder == "kafka-wal-2.6", []int{5, 10, 2, 3, 1, 4, 9, 8, 6, 37}[i], []byte{}, int64(i%2))
		}
	}
	f.Add(marshal(schemaOf(1)), true, 13, numbersOf(1, 445566), int64(0))
	f.Add([]byte{}, true, 900, []byte{}, int64(3))
	create := everyType(f)
	f.Fuzz(func(t *testing.T, value []byte, wal bool, kind int, header []byte, txn int64) {
		r := stages.Record{Value: value}
		if wal {
			r = walRecord(0, value, "_v", "1", "_t", strconv.Itoa(kind), "_tt", "zzzzzzzz", "_h", base64Of(header))
			if txn > 0 {
				r.Headers = append(r.Headers, walHeader{Key: "_tx", Value: []byte(base64Of(numbersOf(txn, 5)))})
			}
		}
		l := newLine(t, quiet())
		l.poll(create)
		r.Offset = 1
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		cuts := l.poll(r)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20+200*uint64(len(value)+len(header)) {
			t.Fatalf("%d bytes are allocated for a record of %d", n, len(value))
		}
		if l.err != nil {
			if !errors.Is(l.err, stages.ErrUnknownCollection) {
				t.Fatal(l.err)
			}
			return
		}
		if held := l.buffer.Held(); held > 64<<10+40*int64(len(value)) {
			t.Fatalf("%d bytes are held of a record of %d", held, len(value))
		}
		commit := walRecord(2, nil, "_v", "2", "_t", "901", "_tt", "zzzzzzzz", "_tx", base64Of(numbersOf(txn, 5)))
		cuts = append(cuts, l.poll(commit)...)
		if l.err != nil && !errors.Is(l.err, stages.ErrUnknownCollection) {
			t.Fatal(l.err)
		}
		cuts = append(cuts, l.send(&stages.Raw{Signal: stages.Drain})...)
		for _, c := range cuts {
			if c.Change.Flush == nil || c.Change.Flush.Log == nil {
				continue
			}
			for _, col := range c.Columns {
				if rows := c.Change.Flush.Log.Rows; int64(col.Rows) != rows || rows > int64(len(value)) {
					t.Fatalf("field %d: %d rows of %d", col.Field.ID, col.Rows, rows)
				}
			}
			if s := c.Change.Flush.Segment; s.Level != checkpoints.L0 && s.Level != checkpoints.L1 {
				t.Fatalf("%+v", s)
			}
		}
	})
}
