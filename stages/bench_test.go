package stages

import (
	"context"
	"fmt"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/msgpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/proto"

	"flowgraph/checkpoints"
	"flowgraph/stages/column"
)

// BenchmarkStages takes inserts of a 128-dim float vector, a key and a text
// from the record to the segment's columns.
func BenchmarkStages(b *testing.B) {
	for _, rows := range []int{1, 1000} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) { benchmarkStages(b, rows) })
	}
}

func benchmarkStages(b *testing.B, rows int) {
	const dim, collection = 128, 7
	raw, bytes := benchmarkBatch(b, rows, dim, collection)
	pool := &column.Pool{}
	names, err := checkpoints.NewNames(checkpoints.VChannel{Topic: "t", TopicID: "i"}, 1)
	if err != nil {
		b.Fatal(err)
	}
	doc := &checkpoints.Document{Collections: map[int64]*checkpoints.Collection{
		collection: {Schema: benchmarkSchema(b, dim), LastDDL: -1},
	}}
	buffer, err := NewBuffer(doc, BufferConfig{Limits: DefaultLimits(), Names: names, Pool: pool})
	if err != nil {
		b.Fatal(err)
	}
	decoder := NewDecoder(checkpoints.Position{})
	filter := NewFilter(doc, func(_ context.Context, refs []checkpoints.SegmentRef) (map[int64]checkpoints.Known, error) {
		return map[int64]checkpoints.Known{}, nil
	})
	b.SetBytes(bytes)
	b.ReportAllocs()
	offset := int64(0)
	for b.Loop() {
		in := &Raw{Records: append([]Record(nil), raw...), Now: 1}
		for i := range in.Records {
			in.Records[i].Offset = offset
			offset++
		}
		packs, err := decoder.Step(b.Context(), in)
		for _, step := range []func(context.Context, *Pack) ([]*Pack, error){Splitter{}.Step, filter.Step} {
			if err != nil {
				b.Fatal(err)
			}
			packs, err = step(b.Context(), packs[0])
		}
		cuts, err := buffer.Step(b.Context(), packs[0])
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range cuts {
			for _, col := range c.Columns {
				col.Free(pool)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(raw)), "ns/msg")
}

func benchmarkSchema(b *testing.B, dim int) []byte {
	schema, err := proto.Marshal(&schemapb.CollectionSchema{Name: "c", Fields: []*schemapb.FieldSchema{
		{FieldID: 100, Name: "pk", DataType: schemapb.DataType_Int64, IsPrimaryKey: true},
		{FieldID: 101, Name: "vec", DataType: schemapb.DataType_FloatVector,
			TypeParams: []*commonpb.KeyValuePair{{Key: "dim", Value: fmt.Sprint(dim)}}},
		{FieldID: 102, Name: "txt", DataType: schemapb.DataType_VarChar},
	}})
	if err != nil {
		b.Fatal(err)
	}
	return schema
}

// benchmarkBatch is about a MiB of inserts.
func benchmarkBatch(b *testing.B, rows, dim int, collection int64) ([]Record, int64) {
	var records []Record
	var bytes int64
	for id := int64(451000000000000000); bytes < 1<<20; {
		m := &msgpb.InsertRequest{
			Base:      &commonpb.MsgBase{MsgType: commonpb.MsgType_Insert, Timestamp: uint64(id)},
			ShardName: "by-dev-rootcoord-dml_0_7v0", CollectionName: "c", PartitionName: "_default",
			CollectionID: collection, PartitionID: 8, SegmentID: 9, NumRows: uint64(rows), Version: msgpb.InsertDataVersion_ColumnBased,
		}
		var keys []int64
		var texts []string
		for range rows {
			id++
			m.RowIDs, m.Timestamps = append(m.RowIDs, id), append(m.Timestamps, uint64(id))
			keys, texts = append(keys, id), append(texts, "doc-0123abcd/alpha-12345")
		}
		m.FieldsData = []*schemapb.FieldData{
			{Type: schemapb.DataType_Int64, FieldName: "pk", FieldId: 100, Field: &schemapb.FieldData_Scalars{Scalars: &schemapb.ScalarField{
				Data: &schemapb.ScalarField_LongData{LongData: &schemapb.LongArray{Data: keys}}}}},
			{Type: schemapb.DataType_FloatVector, FieldName: "vec", FieldId: 101, Field: &schemapb.FieldData_Vectors{Vectors: &schemapb.VectorField{
				Dim: int64(dim), Data: &schemapb.VectorField_FloatVector{FloatVector: &schemapb.FloatArray{Data: make([]float32, rows*dim)}}}}},
			{Type: schemapb.DataType_VarChar, FieldName: "txt", FieldId: 102, Field: &schemapb.FieldData_Scalars{Scalars: &schemapb.ScalarField{
				Data: &schemapb.ScalarField_StringData{StringData: &schemapb.StringArray{Data: texts}}}}},
		}
		value, err := proto.Marshal(m)
		if err != nil {
			b.Fatal(err)
		}
		records = append(records, Record{Value: value})
		bytes += int64(len(value))
	}
	return records, bytes
}
