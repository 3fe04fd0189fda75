package roundtrip

import (
	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/msgpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"flowgraph/internal/recording"
	"flowgraph/internal/testlog"
)

const (
	topic                 = "dml_0"
	collection, partition = 101, 201
)

// log is a log under construction, in the form of 2.5 or of 2.6.
type log struct {
	t       rapid.TB
	records []recording.Record
	tick    uint64
	wal     bool
	msg     int64
}

// walTypes are the numbers that the WAL has for messages of 2.5.
var walTypes = map[commonpb.MsgType]int{
	commonpb.MsgType_TimeTick: 1, commonpb.MsgType_Insert: 2, commonpb.MsgType_Delete: 3, commonpb.MsgType_CreateCollection: 5,
}

// put appends a message; header is the WAL's.
func (l *log) put(kind commonpb.MsgType, body proto.Message, header []byte) {
	value, err := proto.Marshal(body)
	if err != nil {
		l.t.Fatal(err)
	}
	r := recording.Record{Topic: topic, Offset: int64(len(l.records)), Timestamp: 1_700_000_000_000, Value: value}
	if l.wal {
		r.Headers = walHeaders("1", walTypes[kind], l.tick, header)
	}
	l.records = append(l.records, r)
}

func walHeaders(version string, kind int, tick uint64, header []byte) []recording.Header {
	return append(testlog.WALHeaders(version, kind, tick, header),
		recording.Header{Name: "_vc", Value: []byte("dml_0_101v0")}, recording.Header{Name: "_bh", Value: []byte("CAE=")})
}

func (l *log) base(kind commonpb.MsgType) *commonpb.MsgBase {
	l.msg++
	l.tick++
	if l.wal && l.tick%2 == 0 { // there nothing is a repeat
		return &commonpb.MsgBase{MsgType: kind, MsgID: 1}
	}
	return &commonpb.MsgBase{MsgType: kind, MsgID: l.msg, Timestamp: l.tick}
}

func (l *log) create(schema *schemapb.CollectionSchema) {
	raw, err := proto.Marshal(schema)
	if err != nil {
		l.t.Fatal(err)
	}
	l.put(commonpb.MsgType_CreateCollection, &msgpb.CreateCollectionRequest{
		Base: l.base(commonpb.MsgType_CreateCollection), CollectionID: collection,
		//lint:ignore SA1019 no release up to 2.6 sets the field that replaces it
		Schema: raw, PartitionIDs: []int64{partition}, PartitionNames: []string{"_default"},
	}, testlog.Numbers(collection))
}

func (l *log) timeTick() {
	l.put(commonpb.MsgType_TimeTick, &msgpb.TimeTickMsg{Base: l.base(commonpb.MsgType_TimeTick)}, nil)
}

// placeholders are what stands for n timestamps in the body of a WAL's record.
func (l *log) placeholders(n int) []uint64 {
	return [][]uint64{nil, {5}, make([]uint64, n)}[l.tick%3]
}

// insert appends an insert of the columns given and returns its rows' times.
// In a WAL the body's segment, times and message ID say nothing.
func (l *log) insert(segment int64, ids []int64, columns []*schemapb.FieldData) (times []uint64) {
	m := &msgpb.InsertRequest{
		Base: l.base(commonpb.MsgType_Insert), ShardName: "another-shard", CollectionID: collection, PartitionID: partition, PartitionName: "_default",
		SegmentID: segment, RowIDs: ids, NumRows: uint64(len(ids)), FieldsData: columns, Version: msgpb.InsertDataVersion_ColumnBased,
	}
	for i := range ids {
		times = append(times, l.tick+uint64(i%2))
	}
	l.tick++
	m.Timestamps = times
	if l.wal {
		for i := range times {
			times[i] = l.tick
		}
		m.SegmentID, m.Timestamps = 0, l.placeholders(len(ids))
	}
	entry := testlog.Numbers(partition, int64(len(ids)))
	if segment != 0 {
		entry = testlog.Nested(entry, 4, testlog.Numbers(segment))
	}
	l.put(commonpb.MsgType_Insert, m, testlog.Nested(testlog.Numbers(collection), 2, entry))
	return times
}

// delete appends a delete of these keys and returns its time.
func (l *log) delete(keys *schemapb.IDs, n int) uint64 {
	m := &msgpb.DeleteRequest{
		Base: l.base(commonpb.MsgType_Delete), ShardName: "another-shard", CollectionID: collection, PartitionID: -1, NumRows: int64(n), PrimaryKeys: keys,
	}
	for range n {
		m.Timestamps = append(m.Timestamps, l.tick)
	}
	if l.wal {
		m.Timestamps = l.placeholders(n)
	}
	if ints := keys.GetIntId().GetData(); len(ints) > 0 && l.tick%2 == 0 { // as old clients did
		m.PrimaryKeys, m.Int64PrimaryKeys = nil, ints
	}
	l.put(commonpb.MsgType_Delete, m, testlog.Numbers(collection, int64(n)))
	return l.tick
}
