package archive_test

import (
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/msgpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/proto"

	"flowgraph/checkpoints"
	"flowgraph/flows"
	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
	"flowgraph/internal/recording"
	"flowgraph/internal/testlog"
)

// walLog makes the records of a streaming WAL (Milvus 2.6).
type walLog struct {
	t       *testing.T
	records []recording.Record
	tick    uint64
	rows    int64
}

const (
	walCollection, walPartition = 101, 201
	never                       = -1000 // keepalive of a transaction that does not expire
)

// put appends a record; txn 0 is none.
func (l *walLog) put(kind int, txn, keepalive int64, header []byte, body proto.Message) {
	l.tick += 1 << 18
	r := recording.Record{
		Topic: "wal", Offset: int64(len(l.records)), Timestamp: 1_700_000_000_000, Headers: testlog.WALHeaders("1", kind, l.tick, header),
	}
	if txn != 0 {
		r.Headers = append(r.Headers, testlog.InTransaction(txn, keepalive))
	}
	value, err := proto.Marshal(body)
	if err != nil {
		l.t.Fatal(err)
	}
	r.Value = value
	l.records = append(l.records, r)
}

func (l *walLog) bare(kind int, txn, keepalive int64) {
	l.put(kind, txn, keepalive, nil, &msgpb.TimeTickMsg{})
}

// insert appends an insert of two rows; its body holds placeholders.
func (l *walLog) insert(txn, segment int64) {
	l.rows += 2
	ids := []int64{l.rows, l.rows + 1_000_000}
	header := testlog.Nested(testlog.Numbers(walCollection), 2, testlog.Nested(testlog.Numbers(walPartition, 2, 10), 4, testlog.Numbers(segment)))
	l.put(2, txn, never, header, &msgpb.InsertRequest{
		Base: &commonpb.MsgBase{MsgType: commonpb.MsgType_Insert}, CollectionID: walCollection, PartitionID: walPartition,
		PartitionName: "_default", RowIDs: ids, Timestamps: []uint64{1, 1}, NumRows: 2, Version: msgpb.InsertDataVersion_ColumnBased,
		FieldsData: []*schemapb.FieldData{{FieldId: 100, FieldName: "pk", Type: schemapb.DataType_Int64, Field: &schemapb.FieldData_Scalars{
			Scalars: &schemapb.ScalarField{Data: &schemapb.ScalarField_LongData{LongData: &schemapb.LongArray{Data: ids}}}}}},
	})
}

func (l *walLog) delete(txn, key int64) {
	l.put(3, txn, never, testlog.Numbers(walCollection, 1), &msgpb.DeleteRequest{
		Base: &commonpb.MsgBase{MsgType: commonpb.MsgType_Delete}, CollectionID: walCollection, PartitionID: -1,
		Timestamps: []uint64{1}, NumRows: 1, PrimaryKeys: &schemapb.IDs{IdField: &schemapb.IDs_IntId{IntId: &schemapb.LongArray{Data: []int64{key}}}},
	})
}

func (l *walLog) create() {
	schema, err := proto.Marshal(&schemapb.CollectionSchema{Name: "wal", Fields: []*schemapb.FieldSchema{
		{FieldID: 100, Name: "pk", IsPrimaryKey: true, DataType: schemapb.DataType_Int64}}})
	if err != nil {
		l.t.Fatal(err)
	}
	l.put(5, 0, 0, testlog.Numbers(walCollection), &msgpb.CreateCollectionRequest{
		Base: &commonpb.MsgBase{MsgType: commonpb.MsgType_CreateCollection}, CollectionID: walCollection,
		//lint:ignore SA1019 no release up to 2.6 sets the field that replaces it
		Schema: schema, PartitionIDs: []int64{walPartition}, PartitionNames: []string{"_default"},
	})
}

// run replays the log into a broker and lets a worker read it to its end.
func (l *walLog) run(m *membucket.Bucket) {
	l.t.Helper()
	broker := testlog.Broker(l.t, testlog.Recording(l.t, l.records))
	defer broker.Close()
	testlog.Read(l.t.Context(), l.t, broker, m, func(cfg *flows.Config) { cfg.Topics, cfg.Partitions = nil, map[string][]int32{"wal": {0}} })
}

func TestTransactionsCountFromTheirCommit(t *testing.T) {
	l := &walLog{t: t, tick: 1 << 40}
	l.create()
	l.insert(0, 301)
	l.bare(900, 7, never) // begins, and commits after others
	l.insert(7, 302)
	l.insert(0, 301)
	l.delete(7, 2)
	l.bare(900, 8, never) // rolled back
	l.insert(8, 301)
	l.bare(902, 8, never)
	l.bare(900, 9, 5) // expires
	l.insert(9, 301)
	for range 10 {
		l.bare(1, 0, 0)
	}
	l.bare(901, 9, 5)
	l.delete(0, 3)
	l.bare(901, 7, never)
	l.put(4, 0, 0, testlog.Numbers(walCollection, walPartition, 301), &msgpb.TimeTickMsg{}) // sealed
	l.insert(0, 301)                                                                        // late: rerouted
	l.insert(0, 0)
	late := l.tick
	l.bare(1, 0, 0)
	l.tick = late - 5<<18
	l.insert(0, 302) // below the tick: no part of the log
	l.tick = late + 5<<18
	l.bare(1, 0, 0)

	m := membucket.New()
	l.run(m)
	want := archive.NewExpected()
	for _, r := range l.records {
		want.Add(r)
	}
	report := check(t, m, want, archive.CheckOptions{})
	if report.Err() != nil || report.Rows != 10 || report.Deletes != 2 || report.Rerouted != 2 || want.BelowTick != 1 {
		t.Errorf("%s%d below the tick", report, want.BelowTick)
	}
	for _, s := range allSegments(t, open(t, m)) {
		if s.ID == 302 && (s.Start.Offset != 23 || s.Level != checkpoints.L1) {
			t.Errorf("the transaction's rows begin at %d, its commit is at 23", s.Start.Offset)
		}
	}
}
