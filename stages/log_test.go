package stages_test

import (
	"fmt"
	"math"
	"strings"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/msgpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/proto"

	"flowgraph/checkpoints"
	"flowgraph/stages"
)

// op is what a record of a test's log does.
type op string

const (
	insertOp    op = "row"
	deleteOp    op = "delete"
	tickOp      op = "tick"
	createOp    op = "create" // or change of the schema
	partitionOp op = "create partition"
	dropOp      op = "drop partition"
	dropAllOp   op = "drop collection"
	badOp       op = "bad record"
	controlOp   op = "control record"
	aliasOp     op = "alias" // known and without effect

	// Of a WAL.
	memberOp   op = "member" // an insert in a transaction
	beginOp    op = "begin"
	commitOp   op = "commit"
	rollbackOp op = "rollback"
	sealOp     op = "flush" // of segment seg, 0: of all
)

// rec is one record of a test's log. Every row and every deleted key has a
// number of its own in the whole log.
type rec struct {
	off        int64
	op         op
	coll, part int64 // part -1: a delete in all partitions
	seg        int64 // 0: none assigned
	rows       []int64
	msg        int64 // message ID; 0: none
	ts         uint64
	txn        int64
	version    int   // of the schema
	time       int64 // Kafka timestamp, Unix ms
	value      []byte
}

func (r rec) String() string {
	s := fmt.Sprintf("@%d %s c%d p%d", r.off, r.op, r.coll, r.part)
	if len(r.rows) > 0 || r.seg != 0 {
		s += fmt.Sprintf(" s%d rows %d msgID %d", r.seg, r.rows, r.msg)
	}
	return s + fmt.Sprintf(" txn %d ts %d v%d at %d", r.txn, r.ts, r.version, r.time)
}

func logText(log []rec) string {
	var b strings.Builder
	for _, r := range log {
		fmt.Fprintln(&b, r)
	}
	return b.String()
}

// schemaOf is the schema of every test's collections: an int64 key, a text,
// and as many numbers as the version says.
func schemaOf(version int) *schemapb.CollectionSchema {
	s := &schemapb.CollectionSchema{Name: "docs", Fields: []*schemapb.FieldSchema{
		{FieldID: 100, Name: "pk", IsPrimaryKey: true, DataType: schemapb.DataType_Int64},
		{FieldID: 101, Name: "text", DataType: schemapb.DataType_VarChar},
	}}
	for i := range version {
		s.Fields = append(s.Fields, &schemapb.FieldSchema{FieldID: int64(102 + i), Name: fmt.Sprintf("n%d", i), DataType: schemapb.DataType_Int64})
	}
	return s
}

func marshal(m proto.Message) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

func baseOf(kind commonpb.MsgType, r rec) *commonpb.MsgBase {
	return &commonpb.MsgBase{MsgType: kind, MsgID: r.msg, Timestamp: r.ts}
}

func text(n int64) string { return fmt.Sprintf("row %d", n) }

// insertOf is the message of an insert.
func insertOf(r rec) *msgpb.InsertRequest {
	m := &msgpb.InsertRequest{
		Base: baseOf(commonpb.MsgType_Insert, r), ShardName: "dml_0v0", CollectionID: r.coll, PartitionID: r.part, SegmentID: r.seg,
		PartitionName: fmt.Sprintf("p%d", r.part), NumRows: uint64(len(r.rows)),
		Version: msgpb.InsertDataVersion_ColumnBased,
	}
	texts := make([]string, len(r.rows))
	numbers := make([]int64, len(r.rows))
	for i, n := range r.rows {
		m.RowIDs = append(m.RowIDs, n+1000)
		m.Timestamps = append(m.Timestamps, r.ts)
		texts[i], numbers[i] = text(n), -n
	}
	m.FieldsData = []*schemapb.FieldData{longs(100, r.rows), {
		FieldId: 101, Type: schemapb.DataType_VarChar, Field: &schemapb.FieldData_Scalars{Scalars: &schemapb.ScalarField{
			Data: &schemapb.ScalarField_StringData{StringData: &schemapb.StringArray{Data: texts}}}},
	}}
	for i := range r.version {
		m.FieldsData = append(m.FieldsData, longs(int64(102+i), numbers))
	}
	return m
}

func longs(field int64, values []int64) *schemapb.FieldData {
	return &schemapb.FieldData{FieldId: field, Type: schemapb.DataType_Int64, Field: &schemapb.FieldData_Scalars{Scalars: &schemapb.ScalarField{
		Data: &schemapb.ScalarField_LongData{LongData: &schemapb.LongArray{Data: values}}}}}
}

func deleteOf(r rec) *msgpb.DeleteRequest {
	m := &msgpb.DeleteRequest{
		Base: baseOf(commonpb.MsgType_Delete, r), ShardName: "dml_0v0", CollectionID: r.coll, PartitionID: r.part, NumRows: int64(len(r.rows)),
		PrimaryKeys: &schemapb.IDs{IdField: &schemapb.IDs_IntId{IntId: &schemapb.LongArray{Data: r.rows}}},
	}
	for range r.rows {
		m.Timestamps = append(m.Timestamps, r.ts)
	}
	return m
}

// record is the record as Kafka would hand it out.
func (r rec) record() stages.Record {
	out := stages.Record{Offset: r.off, LeaderEpoch: 1, Time: r.time, Value: r.value}
	switch r.op {
	case insertOp:
		out.Value = marshal(insertOf(r))
	case deleteOp:
		out.Value = marshal(deleteOf(r))
	case tickOp:
		out.Value = marshal(&msgpb.TimeTickMsg{Base: baseOf(commonpb.MsgType_TimeTick, r)})
	case createOp:
		out.Value = marshal(&msgpb.CreateCollectionRequest{Base: baseOf(commonpb.MsgType_CreateCollection, r), CollectionID: r.coll,
			//lint:ignore SA1019 Milvus up to 2.5 fills this field
			Schema: marshal(schemaOf(r.version)), PartitionIDs: []int64{r.coll*10 + 1}})
	case partitionOp:
		out.Value = marshal(&msgpb.CreatePartitionRequest{Base: baseOf(commonpb.MsgType_CreatePartition, r), CollectionID: r.coll, PartitionID: r.part, PartitionName: "p"})
	case dropOp:
		out.Value = marshal(&msgpb.DropPartitionRequest{Base: baseOf(commonpb.MsgType_DropPartition, r), CollectionID: r.coll, PartitionID: r.part})
	case dropAllOp:
		out.Value = marshal(&msgpb.DropCollectionRequest{Base: baseOf(commonpb.MsgType_DropCollection, r), CollectionID: r.coll})
	case controlOp:
		out.Control = true
	case memberOp, beginOp, commitOp, rollbackOp, sealOp:
		r.wal(&out)
	case aliasOp:
		out.Value = marshal(&msgpb.TimeTickMsg{Base: baseOf(commonpb.MsgType_CreateAlias, r)})
	}
	return out
}

// want is where a row belongs according to the log alone.
type want struct {
	rec      rec
	identity int64
	ts       uint64
}

// truth is what the log alone says.
type truth struct {
	rows    map[int64]want
	bad     []int64            // offsets
	dropped map[[2]int64]int64 // collection and partition (0: whole) to the drop's offset
}

// truthOf reads a log from its beginning to its end, once.
func truthOf(log []rec) *truth {
	t := &truth{rows: map[int64]want{}, dropped: map[[2]int64]int64{}}
	type id struct {
		msg int64
		op  op
	}
	remembered := map[id]uint64{} // to the timestamp of the last one
	open := map[int64][]rec{}
	gone := func(r rec) bool {
		_, whole := t.dropped[[2]int64{r.coll, 0}]
		_, part := t.dropped[[2]int64{r.coll, r.part}]
		return whole || part
	}
	for _, r := range log {
		switch r.op {
		case insertOp, deleteOp:
			_, again := remembered[id{r.msg, r.op}]
			if r.msg != 0 {
				remembered[id{r.msg, r.op}] = r.ts
			}
			if again || gone(r) {
				continue
			}
			for _, n := range r.rows {
				t.rows[n] = want{r, r.off, r.ts}
			}
		case beginOp:
			open[r.txn] = []rec{r}
		case memberOp:
			if len(open[r.txn]) > 0 {
				open[r.txn] = append(open[r.txn], r)
			}
		case rollbackOp:
			delete(open, r.txn)
		case commitOp:
			for _, m := range open[r.txn] {
				for _, n := range m.rows {
					if !gone(m) {
						t.rows[n] = want{m, r.off, r.ts}
					}
				}
			}
			delete(open, r.txn)
		case tickOp:
			for k, ts := range remembered {
				if ts <= r.ts {
					delete(remembered, k)
				}
			}
		case dropOp, dropAllOp:
			at := [2]int64{r.coll, r.part}
			if _, twice := t.dropped[at]; !twice {
				t.dropped[at] = r.off
			}
		case badOp:
			if !gone(r) { // what has no place any more is not read
				t.bad = append(t.bad, r.off)
			}
		}
	}
	return t
}

// number gives the records their offsets, where they have none, and their
// rows their numbers.
func number(log []rec) []rec {
	next, row := int64(0), int64(1)
	for i := range log {
		r := &log[i]
		if r.off < next {
			r.off = next
		}
		next = checkpoints.After(r.off)
		for j := range r.rows {
			if r.rows[j] == 0 {
				r.rows[j] = row
				row++
			}
		}
		if r.ts == 0 && r.op != tickOp {
			r.ts = math.MaxUint32 + uint64(r.off)
		}
		if r.time == 0 {
			r.time = 1_000 + r.off
		}
	}
	return log
}
