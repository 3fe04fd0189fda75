package explore

import (
	"fmt"
	"strings"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/msgpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"flowgraph/internal/recording"
	"flowgraph/internal/testlog"
)

// message is what one line of a script writes into the log.
type message struct {
	collection, partition int64 // partition -1: deletes for all of them
	segment               int64 // 0: none assigned
	segments              []int64
	first, rows           int64 // row IDs and keys: first, first+1, ...
	id                    int64 // message ID; 0: none
	ts                    uint64
	version               int // of the schema
	size                  int // bytes of a row's text
	wal                   bool
	txn, keepalive        int64
}

// schemaOf has as many numbers, besides a key and a text, as its version says.
func schemaOf(collection int64, version int) []byte {
	s := &schemapb.CollectionSchema{Name: fmt.Sprintf("docs%d", collection), Fields: []*schemapb.FieldSchema{
		{FieldID: 0, Name: "RowID", DataType: schemapb.DataType_Int64},
		{FieldID: 1, Name: "Timestamp", DataType: schemapb.DataType_Int64},
		{FieldID: 100, Name: "pk", IsPrimaryKey: true, DataType: schemapb.DataType_Int64},
		{FieldID: 101, Name: "text", DataType: schemapb.DataType_VarChar,
			TypeParams: []*commonpb.KeyValuePair{{Key: "max_length", Value: "65535"}}},
	}}
	for i := range version {
		s.Fields = append(s.Fields, &schemapb.FieldSchema{FieldID: int64(102 + i), Name: fmt.Sprintf("n%d", i), DataType: schemapb.DataType_Int64})
	}
	return marshal(s)
}

func marshal(m proto.Message) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

func (m message) base(kind commonpb.MsgType) *commonpb.MsgBase {
	return &commonpb.MsgBase{MsgType: kind, MsgID: m.id, Timestamp: m.ts}
}

func (m message) keys() []int64 {
	keys := make([]int64, m.rows)
	for i := range keys {
		keys[i] = m.first + int64(i)
	}
	return keys
}

func (m message) times() []uint64 {
	times := make([]uint64, m.rows)
	for i := range times {
		times[i] = m.ts
		if m.wal {
			times[i] = 1 // a placeholder
		}
	}
	return times
}

func longs(field int64, values []int64) *schemapb.FieldData {
	return &schemapb.FieldData{FieldId: field, Type: schemapb.DataType_Int64, Field: &schemapb.FieldData_Scalars{
		Scalars: &schemapb.ScalarField{Data: &schemapb.ScalarField_LongData{LongData: &schemapb.LongArray{Data: values}}}}}
}

func (m message) insert() *msgpb.InsertRequest {
	keys, texts := m.keys(), make([]string, m.rows)
	ids := make([]int64, m.rows)
	for i, k := range keys {
		ids[i] = k + 1_000_000
		texts[i] = fmt.Sprintf("row %d", k) + strings.Repeat("x", m.size)
	}
	r := &msgpb.InsertRequest{
		Base: m.base(commonpb.MsgType_Insert), ShardName: "explored_0v0", CollectionID: m.collection, PartitionID: m.partition,
		PartitionName: fmt.Sprintf("p%d", m.partition), NumRows: uint64(m.rows), RowIDs: ids, Timestamps: m.times(),
		Version: msgpb.InsertDataVersion_ColumnBased,
		FieldsData: []*schemapb.FieldData{longs(100, keys), {FieldId: 101, Type: schemapb.DataType_VarChar,
			Field: &schemapb.FieldData_Scalars{Scalars: &schemapb.ScalarField{
				Data: &schemapb.ScalarField_StringData{StringData: &schemapb.StringArray{Data: texts}}}}}},
	}
	if !m.wal {
		r.SegmentID = m.segment
	}
	for i := range m.version {
		r.FieldsData = append(r.FieldsData, longs(int64(102+i), keys))
	}
	return r
}

func (m message) delete() *msgpb.DeleteRequest {
	return &msgpb.DeleteRequest{
		Base: m.base(commonpb.MsgType_Delete), ShardName: "explored_0v0", CollectionID: m.collection, PartitionID: m.partition,
		NumRows: m.rows, Timestamps: m.times(),
		PrimaryKeys: &schemapb.IDs{IdField: &schemapb.IDs_IntId{IntId: &schemapb.LongArray{Data: m.keys()}}},
	}
}

func (m message) create() *msgpb.CreateCollectionRequest {
	return &msgpb.CreateCollectionRequest{
		Base: m.base(commonpb.MsgType_CreateCollection), CollectionID: m.collection,
		//lint:ignore SA1019 no release sets the field that replaces it
		Schema:       schemaOf(m.collection, m.version),
		PartitionIDs: []int64{m.collection*10 + 1}, PartitionNames: []string{fmt.Sprintf("p%d", m.collection*10+1)},
	}
}

// envelope are the headers of a WAL record.
func (m message) envelope(kind int, header []byte) []recording.Header {
	h := append(testlog.WALHeaders("1", kind, m.ts, header), recording.Header{Name: "_vc", Value: []byte("explored_0v0")})
	if m.txn != 0 {
		h = append(h, testlog.InTransaction(m.txn, m.keepalive))
	}
	return h
}

// record is what stands in the log for a line that begins with verb; false:
// there is no such message.
func (m message) record(verb string) (recording.Record, bool) {
	var r recording.Record
	at := testlog.Numbers(m.collection, m.partition)
	wal := func(kind int, header []byte) { r.Headers = m.envelope(kind, header) }
	switch verb {
	case "insert":
		r.Value = marshal(m.insert())
		if m.wal {
			part := testlog.Numbers(m.partition, m.rows)
			if m.segment != 0 {
				part = testlog.Nested(part, 4, testlog.Numbers(m.segment))
			}
			wal(2, testlog.Nested(testlog.Numbers(m.collection), 2, part))
		}
	case "delete":
		r.Value = marshal(m.delete())
		if m.wal {
			wal(3, testlog.Numbers(m.collection, m.rows))
		}
	case "tick":
		r.Value = marshal(&msgpb.TimeTickMsg{Base: m.base(commonpb.MsgType_TimeTick)})
		if m.wal {
			wal(1, nil)
		}
	case "create":
		r.Value = marshal(m.create())
		if m.wal {
			wal(5, testlog.Numbers(m.collection))
		}
	case "drop-collection":
		r.Value = marshal(&msgpb.DropCollectionRequest{Base: m.base(commonpb.MsgType_DropCollection), CollectionID: m.collection})
		if m.wal {
			wal(6, testlog.Numbers(m.collection))
		}
	case "partition":
		r.Value = marshal(&msgpb.CreatePartitionRequest{Base: m.base(commonpb.MsgType_CreatePartition),
			CollectionID: m.collection, PartitionID: m.partition, PartitionName: fmt.Sprintf("p%d", m.partition)})
		if m.wal {
			wal(7, at)
		}
	case "drop-partition":
		r.Value = marshal(&msgpb.DropPartitionRequest{Base: m.base(commonpb.MsgType_DropPartition), CollectionID: m.collection, PartitionID: m.partition})
		if m.wal {
			wal(8, at)
		}
	case "alias":
		r.Value = marshal(&msgpb.TimeTickMsg{Base: m.base(commonpb.MsgType_CreateAlias)})
	default:
		return m.walOnly(verb)
	}
	return r, true
}

// walOnly are the messages that Milvus sends since 2.6.
func (m message) walOnly(verb string) (recording.Record, bool) {
	var r recording.Record
	switch verb {
	case "begin":
		r.Headers = m.envelope(900, nil)
	case "commit":
		r.Headers = m.envelope(901, nil)
	case "rollback":
		r.Headers = m.envelope(902, nil)
	case "flush":
		r.Headers = m.envelope(4, testlog.Numbers(m.collection, m.partition, m.segment))
	case "manual-flush":
		header := testlog.Numbers(m.collection)
		for _, s := range m.segments {
			header = protowire.AppendVarint(protowire.AppendTag(header, 3, protowire.VarintType), uint64(s))
		}
		r.Headers = m.envelope(9, header)
	case "flush-all":
		r.Headers = m.envelope(37, nil)
	case "alter":
		r.Headers = m.envelope(12, testlog.Numbers(m.collection))
		r.Value = testlog.Nested(nil, 1, schemaOf(m.collection, m.version))
	default:
		return r, false
	}
	return r, true
}

// badValue is the body of a record that no release would send.
func (m message) badValue(kind string) ([]byte, bool) {
	switch kind {
	case "empty":
		return nil, true
	case "garbage":
		return []byte("\x00\xff no message"), true
	case "type":
		return marshal(&msgpb.TimeTickMsg{Base: m.base(987_654)}), true
	case "counts": // a column lost a row
		r := m.insert()
		r.FieldsData[0] = longs(100, m.keys()[1:])
		return marshal(r), true
	case "columns": // one is missing
		r := m.insert()
		r.FieldsData = r.FieldsData[1:]
		return marshal(r), true
	}
	return nil, false
}
