package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/msgpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"
)

// IDs of the generated log have the width of those that Milvus gives.
const (
	collection = int64(450000000000000001)
	firstID    = int64(451000000000000000)
	firstTick  = uint64(1767225600000) << 18
	bodies     = 64      // distinct column bodies
	perSegment = 256_000 // rows
	perTick    = 50      // messages
)

// input says what the log holds: inserts of a key, a float vector and a text
// of about 24 bytes.
type input struct {
	messages, rows, dim, partitions int
	integers                        bool // vectors of small whole numbers, as SIFT has, instead of gaussian ones
}

// produce fills a topic and returns the bytes of its values.
func (in input) produce(ctx context.Context, topic string, opts []kgo.Opt) (int64, error) {
	client, err := kgo.NewClient(append(opts, kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerBatchMaxBytes(8<<20),
		kgo.MaxBufferedRecords(2000), kgo.MaxBufferedBytes(256<<20))...)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	limit := "16777216"
	if _, err := kadm.NewClient(client).CreateTopic(ctx, int32(in.partitions), 1, map[string]*string{"max.message.bytes": &limit}, topic); err != nil {
		return 0, fmt.Errorf("create topic %s: %w", topic, err)
	}
	var bytes int64
	var failed error
	send := func(partition int, value []byte) {
		bytes += int64(len(value))
		client.Produce(ctx, &kgo.Record{Topic: topic, Partition: int32(partition), Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				failed = err
			}
		})
	}
	if err := in.records(send); err != nil {
		return 0, err
	}
	if err := client.Flush(ctx); err != nil {
		return 0, err
	}
	return bytes, failed
}

// records makes the log: a collection, inserts with a new segment now and
// then, and ticks.
func (in input) records(send func(partition int, value []byte)) error {
	create, err := in.create()
	if err != nil {
		return err
	}
	columns, err := in.columns()
	if err != nil {
		return err
	}
	tail, err := proto.Marshal(&msgpb.InsertRequest{NumRows: uint64(in.rows), Version: msgpb.InsertDataVersion_ColumnBased})
	if err != nil {
		return err
	}
	for p := range in.partitions {
		send(p, create)
	}
	sent := make([]int, in.partitions)
	timestamps, rowIDs := make([]uint64, in.rows), make([]int64, in.rows)
	for i := range in.messages {
		p := i % in.partitions
		now := firstTick + uint64(i+1)<<18
		for j := range timestamps {
			timestamps[j], rowIDs[j] = now, firstID+int64(i*in.rows+j)
		}
		head, err := proto.Marshal(&msgpb.InsertRequest{
			Base:      &commonpb.MsgBase{MsgType: commonpb.MsgType_Insert, MsgID: firstID + int64(i), Timestamp: now, SourceID: 7},
			ShardName: "bench_" + strconv.Itoa(p), CollectionName: "bench", PartitionName: "_default",
			CollectionID: collection, PartitionID: collection + 1,
			SegmentID:  collection + int64(1000+p*100000+sent[p]*in.rows/perSegment),
			Timestamps: timestamps, RowIDs: rowIDs,
		})
		if err != nil {
			return err
		}
		body := columns[i%len(columns)]
		send(p, append(append(append(make([]byte, 0, len(head)+len(body)+len(tail)), head...), body...), tail...))
		if sent[p]++; sent[p]%perTick == 0 || i >= in.messages-in.partitions {
			tick, err := proto.Marshal(&msgpb.TimeTickMsg{Base: &commonpb.MsgBase{MsgType: commonpb.MsgType_TimeTick, Timestamp: now}})
			if err != nil {
				return err
			}
			send(p, tick)
		}
	}
	return nil
}

func (in input) create() ([]byte, error) {
	schema, err := proto.Marshal(&schemapb.CollectionSchema{Name: "bench", Fields: []*schemapb.FieldSchema{
		{FieldID: 100, Name: "pk", DataType: schemapb.DataType_Int64, IsPrimaryKey: true},
		{FieldID: 101, Name: "vec", DataType: schemapb.DataType_FloatVector,
			TypeParams: []*commonpb.KeyValuePair{{Key: "dim", Value: strconv.Itoa(in.dim)}}},
		{FieldID: 102, Name: "txt", DataType: schemapb.DataType_VarChar},
	}})
	if err != nil {
		return nil, err
	}
	return proto.Marshal(&msgpb.CreateCollectionRequest{
		Base:         &commonpb.MsgBase{MsgType: commonpb.MsgType_CreateCollection, Timestamp: firstTick},
		CollectionID: collection, PartitionIDs: []int64{collection + 1},
		//lint:ignore SA1019 every release up to 2.5 writes the serialized schema
		Schema: schema,
	})
}

// columns are serialized column bodies, for messages to share.
func (in input) columns() ([][]byte, error) {
	random := rand.New(rand.NewPCG(1, 2))
	out := make([][]byte, bodies)
	for i := range out {
		keys, texts, vectors := make([]int64, in.rows), make([]string, in.rows), make([]float32, in.rows*in.dim)
		for j := range keys {
			keys[j] = firstID + int64(i*in.rows+j)
			texts[j] = fmt.Sprintf("doc-%08x/lima-%d", random.Uint32(), random.IntN(100000))
		}
		for j := range vectors {
			if in.integers {
				vectors[j] = float32(max(0, int(random.ExpFloat64()*35)-8) & 0xff)
			} else {
				vectors[j] = float32(random.NormFloat64()) * 0.0884
			}
		}
		var err error
		if out[i], err = proto.Marshal(&msgpb.InsertRequest{FieldsData: fieldsData(keys, texts, vectors, in.dim)}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func fieldsData(keys []int64, texts []string, vectors []float32, dim int) []*schemapb.FieldData {
	scalar := func(id int64, name string, t schemapb.DataType, s *schemapb.ScalarField) *schemapb.FieldData {
		return &schemapb.FieldData{Type: t, FieldName: name, FieldId: id, Field: &schemapb.FieldData_Scalars{Scalars: s}}
	}
	return []*schemapb.FieldData{
		scalar(100, "pk", schemapb.DataType_Int64, &schemapb.ScalarField{Data: &schemapb.ScalarField_LongData{LongData: &schemapb.LongArray{Data: keys}}}),
		{Type: schemapb.DataType_FloatVector, FieldName: "vec", FieldId: 101, Field: &schemapb.FieldData_Vectors{Vectors: &schemapb.VectorField{
			Dim: int64(dim), Data: &schemapb.VectorField_FloatVector{FloatVector: &schemapb.FloatArray{Data: vectors}}}}},
		scalar(102, "txt", schemapb.DataType_VarChar, &schemapb.ScalarField{Data: &schemapb.ScalarField_StringData{StringData: &schemapb.StringArray{Data: texts}}}),
	}
}
