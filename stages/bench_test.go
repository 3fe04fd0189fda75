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
// from the record to the segment's columns: the decoder alone, what follows
// it, and both.
func BenchmarkStages(b *testing.B) {
	for _, rows := range []int{1, 1000} {
		w := newWorkbench(b, rows)
		for _, part := range []struct {
			name string
			run  func() error
		}{{"decode", w.decode}, {"place", w.placeOnly}, {"whole", w.whole}} {
			b.Run(fmt.Sprintf("%s/rows=%d", part.name, rows), func(b *testing.B) {
				b.SetBytes(w.bytes)
				b.ReportAllocs()
				for b.Loop() {
					if err := part.run(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(w.records)), "ns/msg")
			})
		}
	}
}

// workbench is a line of stages over a batch of about a MiB that comes again
// and again.
type workbench struct {
	records []Record
	bytes   int64
	offset  int64
	slabs   Slabs
	pool    column.Pool
	decoder *Decoder
	filter  *Filter
	buffer  *Buffer
	decoded *Pack // for placeOnly
}

func newWorkbench(t testing.TB, rows int) *workbench {
	const dim, collection = 128, 7
	w := &workbench{decoder: NewDecoder(checkpoints.Position{})}
	w.records, w.bytes = benchmarkBatch(t, rows, dim, collection)
	names, err := checkpoints.NewNames(checkpoints.VChannel{Topic: "t", TopicID: "i"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	doc := &checkpoints.Document{Collections: map[int64]*checkpoints.Collection{
		collection: {Schema: benchmarkSchema(t, dim), LastDDL: -1},
	}}
	if w.buffer, err = NewBuffer(doc, BufferConfig{Limits: DefaultLimits(), Names: names, Pool: &w.pool}); err != nil {
		t.Fatal(err)
	}
	w.filter = NewFilter(doc, func(_ context.Context, refs []checkpoints.SegmentRef) (map[int64]checkpoints.Known, error) {
		return map[int64]checkpoints.Known{}, nil
	})
	packs, err := w.decoder.Step(t.Context(), &Raw{Records: w.raw().Records, Now: 1})
	if err != nil {
		t.Fatal(err)
	}
	w.decoded = packs[0]
	return w
}

// raw is the next batch.
func (w *workbench) raw() *Raw {
	in := w.slabs.Raw(len(w.records))
	in.Now = 1
	for _, r := range w.records {
		r.Offset = w.offset
		w.offset++
		in.Add(r)
	}
	return in
}

func (w *workbench) decode() error {
	packs, err := w.decoder.Step(context.Background(), w.raw())
	if err == nil {
		packs[0].Release()
	}
	return err
}

func (w *workbench) placeOnly() error { return w.place(w.decoded) }

func (w *workbench) whole() error {
	packs, err := w.decoder.Step(context.Background(), w.raw())
	if err != nil {
		return err
	}
	return w.place(packs[0])
}

func (w *workbench) place(p *Pack) error {
	ctx := context.Background()
	packs, err := Splitter{}.Step(ctx, p)
	if err == nil {
		packs, err = w.filter.Step(ctx, packs[0])
	}
	if err != nil {
		return err
	}
	cuts, err := w.buffer.Step(ctx, packs[0])
	for _, c := range cuts {
		for _, col := range c.Columns {
			col.Free(&w.pool)
		}
	}
	packs[0].Release()
	return err
}

func benchmarkSchema(b testing.TB, dim int) []byte {
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
func benchmarkBatch(b testing.TB, rows, dim int, collection int64) ([]Record, int64) {
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
