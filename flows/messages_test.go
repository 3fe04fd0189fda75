package flows

import (
	"strings"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/msgpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/proto"
)

const (
	collectionID = int64(100)
	partitionID  = int64(101)
)

func marshal(m proto.Message) []byte {
	data, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return data
}

func schema() []byte {
	return marshal(&schemapb.CollectionSchema{Name: "c", Fields: []*schemapb.FieldSchema{
		{FieldID: 0, Name: "RowID", DataType: schemapb.DataType_Int64},
		{FieldID: 1, Name: "Timestamp", DataType: schemapb.DataType_Int64},
		{FieldID: 100, Name: "pk", IsPrimaryKey: true, DataType: schemapb.DataType_Int64},
		{FieldID: 101, Name: "text", DataType: schemapb.DataType_VarChar,
			TypeParams: []*commonpb.KeyValuePair{{Key: "max_length", Value: "65535"}}},
	}})
}

func base(t commonpb.MsgType) *commonpb.MsgBase { return &commonpb.MsgBase{MsgType: t} }

func createCollection(id int64) []byte {
	return marshal(&msgpb.CreateCollectionRequest{
		//lint:ignore SA1019 Milvus up to 2.5 fills this field
		Base: base(commonpb.MsgType_CreateCollection), CollectionID: id, Schema: schema(),
		PartitionIDs: []int64{partitionID}, PartitionNames: []string{"_default"},
	})
}

// insert is one row of a segment: its key is its timestamp, its text so long.
func insert(segment, key int64, size int) []byte {
	return insertInto(collectionID, segment, key, size)
}

func insertInto(collection, segment, key int64, size int) []byte {
	return marshal(&msgpb.InsertRequest{
		Base: base(commonpb.MsgType_Insert), CollectionID: collection, PartitionID: partitionID, PartitionName: "_default",
		SegmentID: segment, NumRows: 1, RowIDs: []int64{key}, Timestamps: []uint64{uint64(key) << 18}, Version: msgpb.InsertDataVersion_ColumnBased,
		FieldsData: []*schemapb.FieldData{
			{FieldId: 100, FieldName: "pk", Type: schemapb.DataType_Int64, Field: &schemapb.FieldData_Scalars{Scalars: &schemapb.ScalarField{
				Data: &schemapb.ScalarField_LongData{LongData: &schemapb.LongArray{Data: []int64{key}}}}}},
			{FieldId: 101, FieldName: "text", Type: schemapb.DataType_VarChar, Field: &schemapb.FieldData_Scalars{Scalars: &schemapb.ScalarField{
				Data: &schemapb.ScalarField_StringData{StringData: &schemapb.StringArray{Data: []string{strings.Repeat("x", size)}}}}}},
		},
	})
}

// inserts are rows of one segment with keys from first on.
func inserts(segment, first int64, n, size int) [][]byte {
	var out [][]byte
	for i := range int64(n) {
		out = append(out, insert(segment, first+i, size))
	}
	return out
}

func deleteKey(key int64) []byte {
	return marshal(&msgpb.DeleteRequest{
		Base: base(commonpb.MsgType_Delete), CollectionID: collectionID, PartitionID: partitionID, NumRows: 1,
		Timestamps:  []uint64{uint64(key) << 18},
		PrimaryKeys: &schemapb.IDs{IdField: &schemapb.IDs_IntId{IntId: &schemapb.LongArray{Data: []int64{key}}}},
	})
}

func tick(ts int64) []byte {
	return marshal(&msgpb.TimeTickMsg{Base: &commonpb.MsgBase{MsgType: commonpb.MsgType_TimeTick, Timestamp: uint64(ts) << 18}})
}

var garbage = []byte("\xff\xff no message")
