package stages_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/msgpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/checkpoints"
	"flowgraph/stages"
	"flowgraph/stages/wire"
)

// decode makes a pack of records that begin where the decoder stands.
func decode(t *testing.T, d *stages.Decoder, records ...stages.Record) *stages.Pack {
	t.Helper()
	packs, err := d.Step(context.Background(), &stages.Raw{Records: records})
	if err != nil || len(packs) != 1 {
		t.Fatalf("%d packs: %v", len(packs), err)
	}
	return packs[0]
}

// what names what became of a pack's only record.
func what(p *stages.Pack) string {
	switch {
	case len(p.Messages) == 0 && p.Counts.Ignored.Total() == 1:
		return "ignored"
	case len(p.Messages) == 0:
		return "nothing"
	case p.Messages[0].Bad != "":
		return "bad: " + p.Messages[0].Bad
	case p.Messages[0].Insert != nil:
		return "insert"
	case p.Messages[0].Delete != nil:
		return "delete"
	}
	return string(p.Messages[0].Event.Kind)
}

func typed(kind commonpb.MsgType) []byte {
	return marshal(&msgpb.TimeTickMsg{Base: &commonpb.MsgBase{MsgType: kind}})
}

func TestTheTypeOfARecord(t *testing.T) {
	header := func(value string) []wire.Header {
		return []wire.Header{{Key: "traceparent", Value: []byte("00-1")}, {Key: "msg_type", Value: []byte(value)}}
	}
	rows := number([]rec{create(1), row(5), remove(11)})
	insert, del := marshal(insertOf(rows[1])), marshal(deleteOf(rows[2]))
	unknown := marshal(&msgpb.InsertRequest{Base: &commonpb.MsgBase{MsgType: 0}, CollectionID: 1, PartitionID: 11})
	noID := func(r rec) []byte { return marshal(insertOf(r)) }
	for _, c := range []struct {
		name   string
		record stages.Record
		want   string
	}{
		{"by its base", stages.Record{Value: insert}, "insert"},
		{"delete", stages.Record{Value: del}, "delete"},
		{"by its header", stages.Record{Value: unknown, Headers: header("Insert")}, "insert"},
		{"header without a type", stages.Record{Value: insert, Headers: header("Row")}, "insert"},
		{"unknown type", stages.Record{Value: typed(9999)}, "bad: unknown message type 9999"},
		{"negative type", stages.Record{Value: typed(-1)}, "bad: unknown message type -1"},
		{"no type", stages.Record{Value: typed(0)}, "bad: unknown message type 0"},
		{"no value", stages.Record{Key: []byte("key")}, "bad: empty"},
		{"empty value", stages.Record{Value: []byte{}}, "bad: empty"},
		{"headers only", stages.Record{Headers: header("Insert")}, "bad: empty"},
		{"garbage", stages.Record{Value: []byte("\xffgarbage")}, "bad: malformed"},
		{"a transaction marker", stages.Record{Control: true, Value: []byte{0, 0, 0, 1}}, "nothing"},
		{"tick", stages.Record{Value: typed(commonpb.MsgType_TimeTick)}, "nothing"},
		{"collection 0", stages.Record{Value: noID(rec{part: 11})}, "bad: insert into collection 0"},
		{"partition 0", stages.Record{Value: noID(rec{coll: 1})}, "bad: insert into collection 1, partition 0"},
		{"insert in all partitions", stages.Record{Value: noID(rec{coll: 1, part: -1})}, "bad: insert into"},
		{"negative segment", stages.Record{Value: noID(rec{coll: 1, part: 11, seg: -5})}, "bad: insert into"},
		{"delete in partition 0", stages.Record{Value: marshal(deleteOf(rec{coll: 1}))}, "bad: delete in"},
		{"delete in partition -2", stages.Record{Value: marshal(deleteOf(rec{coll: 1, part: -2}))}, "bad: delete in"},
		{"drop without an ID", stages.Record{Value: rec{op: dropOp, coll: 1}.record().Value}, "bad: drop_partition"},
		{"create without a key", stages.Record{Value: marshal(&msgpb.CreateCollectionRequest{
			Base: &commonpb.MsgBase{MsgType: commonpb.MsgType_CreateCollection}, CollectionID: 1})}, "bad: create collection"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := decode(t, stages.NewDecoder(checkpoints.Position{}), c.record)
			if got := what(p); !strings.HasPrefix(got, c.want) {
				t.Errorf("%s, want %s", got, c.want)
			}
			if p.End.Offset != 1 || p.Counts.Records != 1 {
				t.Errorf("ends at %d after %d records", p.End.Offset, p.Counts.Records)
			}
		})
	}
}

// What Milvus may send and what has no effect here must not fill the
// quarantine, or stop a vchannel.
func TestEveryTypeThatMilvusKnowsIsTaken(t *testing.T) {
	for kind := range commonpb.MsgType_name {
		got := what(decode(t, stages.NewDecoder(checkpoints.Position{}), stages.Record{Value: typed(commonpb.MsgType(kind))}))
		switch commonpb.MsgType(kind) {
		case commonpb.MsgType_Undefined, commonpb.MsgType_Insert, commonpb.MsgType_Delete, commonpb.MsgType_CreateCollection,
			commonpb.MsgType_DropCollection, commonpb.MsgType_CreatePartition, commonpb.MsgType_DropPartition:
			if !strings.HasPrefix(got, "bad") { // they say nothing but their type here
				t.Errorf("type %d: %s", kind, got)
			}
		case commonpb.MsgType_TimeTick:
		case commonpb.MsgType_TruncateCollection: // it has an effect that is not followed
			if !strings.HasPrefix(got, "bad") {
				t.Errorf("type %d: %s", kind, got)
			}
		default:
			if got != "ignored" {
				t.Errorf("type %d: %s", kind, got)
			}
		}
	}
}

// A record that is cut short anywhere is a bad one, or one without rows, or
// the same: never a panic, never a part of its rows.
func TestATruncatedRecordIsNeverHalfTaken(t *testing.T) {
	three := row(5)
	three.rows = make([]int64, 3)
	log := number([]rec{create(1), three, remove(11), drop(), {op: dropAllOp, coll: 1}, {op: partitionOp, coll: 1, part: 12}, member(7, 5)})
	for _, r := range log {
		whole := r.record()
		for n := range len(whole.Value) {
			l := newLine(t, quiet())
			l.poll(create(1).record())
			short := whole
			short.Offset, short.Value = 1, whole.Value[:n]
			cuts := l.poll(short)
			if l.err != nil {
				t.Errorf("%s cut to %d of %d bytes: %v", r.op, n, len(whole.Value), l.err)
				continue
			}
			cuts = append(cuts, l.send(&stages.Raw{Signal: stages.Drain})...)
			for _, c := range cuts {
				if f := c.Change.Flush; f != nil && f.Log != nil && f.Log.Rows != int64(len(r.rows)) {
					t.Errorf("%s cut to %d of %d bytes: %d rows", r.op, n, len(whole.Value), f.Log.Rows)
				}
			}
		}
	}
}

// Nothing of a message is buffered unless all of it fits.
func TestAMessageWhoseCountsDisagreeIsBad(t *testing.T) {
	three := row(5)
	three.rows = []int64{1, 2, 3}
	insert := func(edit func(*msgpb.InsertRequest)) []byte {
		m := insertOf(number([]rec{three})[0])
		edit(m)
		return marshal(m)
	}
	del := func(edit func(*msgpb.DeleteRequest)) []byte {
		r := remove(11)
		r.rows = []int64{1, 2, 3}
		m := deleteOf(number([]rec{r})[0])
		edit(m)
		return marshal(m)
	}
	text := func(m *msgpb.InsertRequest) *[]string {
		return &m.FieldsData[1].GetScalars().GetStringData().Data
	}
	eleven := append([]byte{11<<3 | 2, 13, 1, 2}, []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")...)
	for name, value := range map[string][]byte{
		"three rows, two row IDs":     insert(func(m *msgpb.InsertRequest) { m.RowIDs = m.RowIDs[:2] }),
		"three rows, four timestamps": insert(func(m *msgpb.InsertRequest) { m.Timestamps = append(m.Timestamps, 1) }),
		"two rows said":               insert(func(m *msgpb.InsertRequest) { m.NumRows = 2 }),
		"no rows said":                insert(func(m *msgpb.InsertRequest) { m.NumRows = 0 }),
		"2^31 rows said":              insert(func(m *msgpb.InsertRequest) { m.NumRows = 1 << 31 }),
		"2^63 rows said":              insert(func(m *msgpb.InsertRequest) { m.NumRows = 1 << 63 }),
		"a text too many":             insert(func(m *msgpb.InsertRequest) { *text(m) = append(*text(m), "") }),
		"a column missing":            insert(func(m *msgpb.InsertRequest) { m.FieldsData = m.FieldsData[:1] }),
		"a column twice":              insert(func(m *msgpb.InsertRequest) { m.FieldsData = append(m.FieldsData, m.FieldsData[0]) }),
		"an unknown column":           insert(func(m *msgpb.InsertRequest) { m.FieldsData = append(m.FieldsData, longs(199, m.RowIDs)) }),
		"a column of another type":    insert(func(m *msgpb.InsertRequest) { m.FieldsData[1] = longs(101, m.RowIDs) }),
		"a column without values":     insert(func(m *msgpb.InsertRequest) { m.FieldsData[1].Field = nil }),
		"nulls where none are":        insert(func(m *msgpb.InsertRequest) { m.FieldsData[1].ValidData = []bool{true, false, true} }),
		"rows as blobs":               insert(func(m *msgpb.InsertRequest) { m.RowData = []*commonpb.Blob{{Value: []byte("row")}} }),
		"a varint of eleven bytes":    append(insert(func(m *msgpb.InsertRequest) { m.RowIDs = nil }), eleven...),
		"a row ID cut short":          append(insert(func(m *msgpb.InsertRequest) { m.RowIDs = m.RowIDs[:2] }), 11<<3|2, 1, 0x80),
		"a text that is not UTF-8": bytes.Replace(insert(func(m *msgpb.InsertRequest) { (*text(m))[0] = "zzz" }),
			[]byte("zzz"), []byte("z\xffz"), 1),
		"two keys of three":           del(func(m *msgpb.DeleteRequest) { m.NumRows = 2 }),
		"-1 keys":                     del(func(m *msgpb.DeleteRequest) { m.NumRows = -1 }),
		"deletes without a timestamp": del(func(m *msgpb.DeleteRequest) { m.Timestamps = nil }),
		"deletes without keys":        del(func(m *msgpb.DeleteRequest) { m.PrimaryKeys = nil }),
	} {
		t.Run(name, func(t *testing.T) {
			l := newLine(t, quiet())
			l.poll(create(1).record())
			cuts := append(l.poll(stages.Record{Offset: 1, Value: value}), l.send(&stages.Raw{Signal: stages.Drain})...)
			bad := 0
			for _, c := range cuts {
				bad += len(c.Bad)
				if c.Columns != nil {
					t.Errorf("%d rows were buffered", c.Change.Flush.Log.Rows)
				}
				if c.Change.Seek.Offset != 2 {
					t.Errorf("the position stands at %d", c.Change.Seek.Offset)
				}
			}
			if bad != 1 {
				t.Errorf("%d bad records", bad)
			}
		})
	}
}

// A message for another dimension fits no row of the schema's.
func TestAVectorOfAnotherDimensionIsBad(t *testing.T) {
	vectors := &schemapb.CollectionSchema{Name: "docs", Fields: []*schemapb.FieldSchema{
		{FieldID: 100, Name: "pk", IsPrimaryKey: true, DataType: schemapb.DataType_Int64},
		{FieldID: 101, Name: "v", DataType: schemapb.DataType_FloatVector, TypeParams: []*commonpb.KeyValuePair{{Key: "dim", Value: "4"}}},
	}}
	begin := stages.Record{Value: marshal(&msgpb.CreateCollectionRequest{
		//lint:ignore SA1019 Milvus up to 2.5 fills this field
		Base: &commonpb.MsgBase{MsgType: commonpb.MsgType_CreateCollection}, CollectionID: 1, Schema: marshal(vectors)})}
	for _, floats := range []int{0, 6, 7, 8, 9, 12, 16} {
		r := rec{coll: 1, part: 11, rows: []int64{1, 2}}
		m := insertOf(r)
		m.FieldsData[1] = &schemapb.FieldData{FieldId: 101, Field: &schemapb.FieldData_Vectors{Vectors: &schemapb.VectorField{
			Dim: int64(floats / 2), Data: &schemapb.VectorField_FloatVector{FloatVector: &schemapb.FloatArray{Data: make([]float32, floats)}}}}}
		l := newLine(t, flushEach())
		l.poll(begin)
		for _, c := range l.poll(stages.Record{Offset: 1, Value: marshal(m)}) {
			if good := c.Columns != nil; good != (floats == 8) || good == (len(c.Bad) == 1) {
				t.Errorf("%d numbers for two rows of 4: flushed %t, %d bad", floats, good, len(c.Bad))
			}
		}
	}
}

func TestAnInsertWithoutRowsMovesThePositionOnly(t *testing.T) {
	for name, edit := range map[string]func(*msgpb.InsertRequest){
		"with empty columns": func(*msgpb.InsertRequest) {},
		"without columns":    func(m *msgpb.InsertRequest) { m.FieldsData = nil },
	} {
		m := insertOf(rec{coll: 1, part: 11, seg: 5})
		edit(m)
		l := newLine(t, quiet())
		l.poll(create(1).record())
		cuts := append(l.poll(stages.Record{Offset: 1, Value: marshal(m)}), l.send(&stages.Raw{Signal: stages.Drain})...)
		for _, c := range cuts {
			if c.Change.Seek.Offset != 2 || c.Change.Flush != nil || len(c.Bad)+len(c.Change.New) > 0 {
				t.Errorf("%s: cut %+v", name, c)
			}
		}
		if len(cuts) == 0 {
			t.Errorf("%s: the position does not move", name)
		}
	}
}

// Offsets have gaps; counting records ends short of the log's end.
func TestPositionsFollowOffsetsNotRecords(t *testing.T) {
	d := stages.NewDecoder(checkpoints.Position{Offset: 5, Tick: 3})
	log := number([]rec{row(1).at(7), tick(9).at(11), row(1).at(12)})
	marker := stages.Record{Offset: 19, LeaderEpoch: 4, Control: true}
	p := decode(t, d, log[0].record(), log[1].record(), log[2].record(), marker)
	if p.Start.Offset != 5 || p.End != (checkpoints.Position{Offset: 20, LeaderEpoch: 4, Tick: 9}) || p.Counts.Records != 4 {
		t.Errorf("from %v to %v, %d records", p.Start, p.End, p.Counts.Records)
	}
	for i, want := range []checkpoints.Position{{Offset: 7, LeaderEpoch: 1, Tick: 3}, {Offset: 12, LeaderEpoch: 1, Tick: 9}} {
		if p.Messages[i].Identity != want {
			t.Errorf("message %d at %v, want %v", i, p.Messages[i].Identity, want)
		}
	}
	if _, err := d.Step(context.Background(), &stages.Raw{Records: []stages.Record{marker}}); err == nil {
		t.Error("a record is read twice in one life")
	}
}

// A tick that goes back forgets nothing that a later one has not forgotten.
func TestTheTickOfAPositionNeverGoesBack(t *testing.T) {
	d := stages.NewDecoder(checkpoints.Position{})
	log := number([]rec{tick(9), tick(5)})
	if p := decode(t, d, log[0].record(), log[1].record()); p.End.Tick != 9 {
		t.Errorf("tick %d", p.End.Tick)
	}
}

// repeats decodes messages with these IDs and says which were taken.
func repeats(t *testing.T, d *stages.Decoder, first int64, ids ...int64) (taken []int64, p *stages.Pack) {
	t.Helper()
	var records []stages.Record
	for i, id := range ids {
		r := row(5).sent(id, 1000)
		r.off, r.rows = first+int64(i), []int64{id}
		records = append(records, r.record())
	}
	p = decode(t, d, records...)
	for _, m := range p.Messages {
		taken = append(taken, m.Insert.Base.MsgID)
	}
	return taken, p
}

func TestARepeatIsCountedOnce(t *testing.T) {
	d := stages.NewDecoder(checkpoints.Position{})
	taken, p := repeats(t, d, 0, 1, 0, 2, 1, 0, 2)
	if fmt.Sprint(taken) != "[1 0 2 0]" || p.Counts.Repeated != 2 {
		t.Errorf("taken %d, %d repeats", taken, p.Counts.Repeated)
	}
	// The same ID of another type, or in another shard, is another message.
	other := remove(11).sent(1, 1000)
	other.off, other.rows = 6, []int64{7}
	shard := insertOf(row(5).sent(1, 1000))
	shard.ShardName = "dml_0v1"
	p = decode(t, d, other.record(), stages.Record{Offset: 7, Value: marshal(shard)})
	if len(p.Messages) != 2 {
		t.Errorf("%d of 2 messages taken", len(p.Messages))
	}
}

// A log without ticks must not hold read_from for ever.
func TestTheWindowHolds1024Messages(t *testing.T) {
	d := stages.NewDecoder(checkpoints.Position{})
	var ids []int64
	for i := range int64(1024) {
		ids = append(ids, i+1)
	}
	if _, p := repeats(t, d, 0, ids...); p.HoldAfter.Offset != 0 {
		t.Errorf("reading must begin at %d", p.HoldAfter.Offset)
	}
	taken, p := repeats(t, d, 1024, 1, 3, 2)
	if fmt.Sprint(taken) != "[2]" || p.Hold.Offset != 0 || p.HoldAfter.Offset != 3 {
		t.Errorf("taken %d; reading must begin at %d, then at %d", taken, p.Hold.Offset, p.HoldAfter.Offset)
	}
}

// Every part of a pack says itself where reading must begin for it.
func TestEachPartOfASplitPackHoldsItsOwn(t *testing.T) {
	log := number([]rec{
		row(5).sent(1, 10), row(5).sent(2, 20), create(1).at(4), tick(10), row(5), tick(20), schema(1, 1).at(9), flush(5), row(6).sent(3, 30).at(14),
	})
	var records []stages.Record
	for _, r := range log {
		records = append(records, r.record())
	}
	raw := &stages.Raw{Signal: stages.Drain, Records: records, Bytes: 7, Free: 8, Now: 9}
	packs, err := stages.NewDecoder(checkpoints.Position{}).Step(context.Background(), raw)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := stages.Splitter{}.Step(context.Background(), packs[0])
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	bytes, free, records64 := int64(0), int64(0), int64(0)
	for i, p := range parts {
		kind := fmt.Sprintf("%d messages", len(p.Messages))
		if p.Event != nil && p.Event.Seal != nil {
			kind = "seal"
		} else if p.Event != nil {
			kind = string(p.Event.Kind)
		}
		got = append(got, fmt.Sprintf("[%d,%d) hold %d, after %d: %s", p.Start.Offset, p.End.Offset, p.Hold.Offset, p.HoldAfter.Offset, kind))
		bytes, free, records64 = bytes+p.Bytes, free+p.Free, records64+p.Counts.Records
		if (p.Signal == stages.Drain) != (i == len(parts)-1) {
			t.Errorf("part %d of %d: signal %d", i, len(parts), p.Signal)
		}
		if p.Now != 9 {
			t.Errorf("part %d at %d", i, p.Now)
		}
	}
	want := []string{
		"[0,4) hold 0, after 0: 2 messages",
		"[4,5) hold 0, after 0: create_collection",
		"[5,9) hold 0, after 9: 1 messages",
		"[9,10) hold 9, after 10: create_collection", // the same message with another schema
		"[10,11) hold 10, after 11: seal",
		"[11,15) hold 11, after 14: 1 messages",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if bytes != 7 || free != 8 || records64 != 9 {
		t.Errorf("the parts carry %d bytes, ask for %d, count %d records", bytes, free, records64)
	}
}
