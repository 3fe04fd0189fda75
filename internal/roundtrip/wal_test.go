package roundtrip

import (
	"fmt"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"flowgraph/internal/membucket"
	"flowgraph/internal/recording"
	"flowgraph/internal/testlog"
)

// wal draws a log of a Milvus that was upgraded to 2.6 on the way.
type wal struct {
	log
	rows     int64
	fields   int // of the schema, besides the key
	begun    map[int64]int64
	open     []int64
	txns     int64
	repeated []recording.Record // messages of 2.5 that no tick has passed
}

const second = 1000 << 18

func (w *wal) schema() *schemapb.CollectionSchema {
	s := &schemapb.CollectionSchema{Name: "docs", Fields: []*schemapb.FieldSchema{{FieldID: 100, Name: "pk", IsPrimaryKey: true, DataType: schemapb.DataType_Int64}}}
	for i := range w.fields {
		f := &schemapb.FieldSchema{FieldID: int64(101 + i), Name: fmt.Sprintf("n%d", i), DataType: schemapb.DataType_Int64, Nullable: i%2 == 0}
		if i%3 > 0 {
			f.DefaultValue = &schemapb.ValueField{Data: &schemapb.ValueField_LongData{LongData: int64(i)}}
		}
		f.Nullable = f.Nullable || f.DefaultValue == nil
		s.Fields = append(s.Fields, f)
	}
	return s
}

func longs(id int64, values []int64) *schemapb.FieldData {
	return &schemapb.FieldData{FieldId: id, Type: schemapb.DataType_Int64, Field: &schemapb.FieldData_Scalars{Scalars: &schemapb.ScalarField{
		Data: &schemapb.ScalarField_LongData{LongData: &schemapb.LongArray{Data: values}}}}}
}

// raw appends a record that has a header but no message of 2.5.
func (w *wal) raw(version string, kind int, header, body []byte, more ...recording.Header) {
	w.tick++
	w.records = append(w.records, recording.Record{Topic: topic, Offset: int64(len(w.records)), Timestamp: 1_700_000_000_000, Value: body,
		Headers: append(walHeaders(version, kind, w.tick, header), more...)})
}

// drawRows appends an insert or delete. A sender may not know the newest fields yet.
func (w *wal) drawRows(t *rapid.T) {
	n := rapid.IntRange(1, 3).Draw(t, "rows")
	var ids []int64
	for range n {
		w.rows++
		ids = append(ids, w.rows)
	}
	if rapid.IntRange(0, 4).Draw(t, "delete") == 0 {
		w.tick++
		w.delete(&schemapb.IDs{IdField: &schemapb.IDs_IntId{IntId: &schemapb.LongArray{Data: ids}}}, n)
		return
	}
	columns := []*schemapb.FieldData{longs(100, ids)}
	known := w.fields
	if w.wal {
		known = rapid.IntRange(0, w.fields).Draw(t, "fields known")
	}
	for i := range known {
		columns = append(columns, longs(int64(101+i), ids))
	}
	if rapid.IntRange(0, 9).Draw(t, "bad") == 0 {
		columns = append(columns, longs(999, ids))
	}
	w.insert(rapid.SampledFrom([]int64{0, 301, 302, 303}).Draw(t, "segment"), ids, columns)
}

// old is a record of 2.5.
func (w *wal) old(t *rapid.T) {
	switch rapid.IntRange(0, 5).Draw(t, "2.5") {
	case 0:
		w.timeTick()
		w.repeated = nil
	case 1:
		if len(w.repeated) > 0 {
			r := rapid.SampledFrom(w.repeated).Draw(t, "repeat")
			r.Offset = int64(len(w.records))
			w.records = append(w.records, r)
		}
	default:
		w.drawRows(t)
		w.repeated = append(w.repeated, w.records[len(w.records)-1])
	}
}

// new is a record of 2.6, or several.
func (w *wal) new(t *rapid.T) {
	segment := rapid.Int64Range(301, 304).Draw(t, "of segment") // 304 has no rows
	switch rapid.IntRange(0, 13).Draw(t, "2.6") {
	case 0, 1, 2:
		w.drawRows(t)
	case 3, 4, 5, 6:
		w.transaction(t)
	case 7:
		w.tick += rapid.SampledFrom([]uint64{1, second - 1, 20 * second}).Draw(t, "time")
		w.timeTick()
	case 8: // appended before the last tick
		tick := w.tick
		w.tick -= min(w.tick-1<<40, rapid.SampledFrom([]uint64{2, second}).Draw(t, "back"))
		w.drawRows(t)
		w.tick = max(tick, w.tick)
	case 9:
		w.seal(t, segment)
	case 10:
		w.alter(t)
	case 11: // the control channel's copies of what is not for here
		kind := rapid.SampledFrom([]int{5, 6, 8, 13, 16, 35}).Draw(t, "control")
		w.raw("2", kind, testlog.Numbers(collection, collection), []byte("\xffnot read"))
		h := w.records[len(w.records)-1].Headers
		for i := range h {
			if h[i].Name == "_vc" {
				h[i].Value = []byte("dml_0_vcchan")
			}
		}
	case 12:
		w.raw("2", 10, testlog.Numbers(collection, partition, segment, 2, 1<<30, 0, 2), nil) // create segment
	default:
		w.unknown(t)
	}
}

// unknown is a record of a version or a type that no release up to 2.6 writes.
func (w *wal) unknown(t *rapid.T) {
	version := rapid.SampledFrom([]string{"3", "0", "2"}).Draw(t, "version")
	if rapid.Bool().Draw(t, "with rows") {
		w.drawRows(t)
		w.records[len(w.records)-1].Headers[0].Value = []byte(version)
		return
	}
	w.raw(version, rapid.SampledFrom([]int{900, 901, 99, 5}).Draw(t, "type"), nil, nil)
}

func (w *wal) seal(t *rapid.T, segment int64) {
	all := protowire.AppendVarint(protowire.AppendTag(testlog.Numbers(collection, 1), 3, protowire.VarintType), uint64(segment))
	switch rapid.IntRange(0, 3).Draw(t, "seal") {
	case 0:
		w.raw("2", 4, testlog.Numbers(collection, partition, segment), nil)
	case 1:
		w.raw("2", 9, all, nil)
	case 2:
		w.raw("2", 9, testlog.Numbers(collection, 1), nil) // none to seal
	default:
		w.raw("2", 37, nil, nil)
	}
}

// alter adds a field, or changes the name or a property alone.
func (w *wal) alter(t *rapid.T) {
	what := rapid.IntRange(0, 3).Draw(t, "alter")
	if what < 2 {
		w.fields = min(w.fields+1, 4)
	}
	schema, err := proto.Marshal(w.schema())
	if err != nil {
		t.Fatal(err)
	}
	switch what {
	case 0:
		w.raw("2", 12, testlog.Numbers(collection), testlog.Nested(nil, 1, schema))
	case 1:
		w.raw("2", 13, testlog.Numbers(1, collection), testlog.Nested(nil, 1, testlog.Nested(nil, 5, schema)))
	case 2:
		w.raw("2", 13, testlog.Numbers(1, collection), testlog.Nested(nil, 1, testlog.Nested(nil, 3, fmt.Appendf(nil, "docs of %d", w.tick))))
	default:
		w.raw("2", 13, testlog.Numbers(1, collection), testlog.Nested(nil, 1, testlog.Nested(nil, 7, nil)))
	}
}

// transaction begins, continues or ends one, or ends one that was never begun.
func (w *wal) transaction(t *rapid.T) {
	what := rapid.IntRange(0, 4).Draw(t, "transaction")
	switch {
	case len(w.open) == 0 || what == 0 && len(w.open) < 3:
		w.txns++
		w.open = append(w.open, w.txns)
		w.begun[w.txns] = rapid.SampledFrom([]int64{-1000, 1000, 10_000}).Draw(t, "keepalive")
		w.raw("2", 900, nil, nil, testlog.InTransaction(w.txns, w.begun[w.txns]))
	case what < 4:
		w.drawRows(t)
		r := &w.records[len(w.records)-1]
		id := rapid.SampledFrom(append([]int64{999}, w.open...)).Draw(t, "member of")
		r.Headers = append(r.Headers, testlog.InTransaction(id, w.begun[id]))
	default:
		i := rapid.IntRange(0, len(w.open)-1).Draw(t, "ends")
		kind := rapid.SampledFrom([]int{901, 901, 902}).Draw(t, "how")
		w.raw("2", kind, nil, nil, testlog.InTransaction(w.open[i], w.begun[w.open[i]]))
		w.open = append(w.open[:i:i], w.open[i+1:]...)
	}
}

func drawWAL(t *rapid.T) *wal {
	w := &wal{log: log{t: t, tick: 1 << 40}, begun: map[int64]int64{}}
	w.fields = rapid.IntRange(0, 2).Draw(t, "fields")
	w.create(w.schema())
	for range rapid.IntRange(0, 6).Draw(t, "records of 2.5") {
		w.old(t)
	}
	w.wal = true
	for range rapid.IntRange(1, 40).Draw(t, "records of 2.6") {
		w.new(t)
	}
	return w
}

// Whatever happens in a WAL, and wherever its reader is killed: what is stored
// is what the log says, read on a way of its own.
func TestAnyWALIsStoredExactly(t *testing.T) {
	met := map[string]int64{}
	rapid.Check(t, func(t *rapid.T) {
		w := drawWAL(t)
		m := membucket.New()
		flush := rapid.SampledFrom([]int64{1, 60, 64 << 20}).Draw(t, "flush bytes")
		for range rapid.IntRange(0, 3).Draw(t, "kills") {
			end := rapid.IntRange(0, len(w.records)).Draw(t, "read up to")
			kill(t, w.records[:end], m, flush, rapid.IntRange(1, 5).Draw(t, "records a poll"), rapid.IntRange(1, 40).Draw(t, "puts"))
		}
		run(t, w.records, m, flush, rapid.IntRange(1, 10).Draw(t, "records a poll"))
		want, report := checkLog(t, w.records, m)
		for what, n := range map[string]int64{
			"rows": want.Rows, "deletes": want.Deletes, "repeats": want.Repeated, "below the tick": want.BelowTick,
			"bad": want.Bad, "rerouted": report.Rerouted, "segments": int64(report.Segments), "garbage": report.Unreferenced,
		} {
			met[what] += n
		}
	})
	t.Log(met)
	for what, n := range met {
		if n == 0 && !t.Failed() {
			t.Errorf("no %s were met", what)
		}
	}
}
