//go:build linux

package scale

import (
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/msgpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
)

// inserts makes insert messages. Those of many rows share their columns with
// others: making vectors is no part of what is measured.
type inserts struct {
	w      *world
	sent   int64
	bodies map[int][][]byte // columns by rows
}

// send writes one insert of so many rows into a segment; at is when, in log time.
func (in *inserts) send(partition int, segment int64, n int, at time.Time) {
	in.sent++
	now := uint64(at.UnixMilli())<<18 + uint64(in.sent&0xffff)
	timestamps, rowIDs := make([]uint64, n), make([]int64, n)
	for i := range timestamps {
		timestamps[i], rowIDs[i] = now, 1<<58+in.sent*10_000+int64(i)
	}
	value := marshal(in.w.t, &msgpb.InsertRequest{
		Base:      &commonpb.MsgBase{MsgType: commonpb.MsgType_Insert, MsgID: 1<<58 + in.sent, Timestamp: now, SourceID: 7},
		ShardName: "scale_" + strconv.Itoa(partition), CollectionName: "scale", PartitionName: "_default",
		CollectionID: collection, PartitionID: collection + 1, SegmentID: segment,
		Timestamps: timestamps, RowIDs: rowIDs, NumRows: uint64(n), Version: msgpb.InsertDataVersion_ColumnBased,
	})
	value = append(value, in.columns(n)...)
	in.w.sendAt(at, partition, value)
}

// columns are serialized columns of a key and a vector.
func (in *inserts) columns(n int) []byte {
	const different = 16
	if in.bodies == nil {
		in.bodies = map[int][][]byte{}
	}
	for i := len(in.bodies[n]); i < different; i++ {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		keys, vectors := make([]int64, n), make([]float32, n*dim)
		for j := range keys {
			keys[j] = 1<<58 + int64(i*n+j)
		}
		for j := range vectors {
			vectors[j] = float32(random.NormFloat64())
		}
		in.bodies[n] = append(in.bodies[n], marshal(in.w.t, &msgpb.InsertRequest{FieldsData: []*schemapb.FieldData{
			{Type: schemapb.DataType_Int64, FieldName: "pk", FieldId: 100, Field: &schemapb.FieldData_Scalars{Scalars: &schemapb.ScalarField{
				Data: &schemapb.ScalarField_LongData{LongData: &schemapb.LongArray{Data: keys}}}}},
			{Type: schemapb.DataType_FloatVector, FieldName: "vec", FieldId: 101, Field: &schemapb.FieldData_Vectors{Vectors: &schemapb.VectorField{
				Dim: dim, Data: &schemapb.VectorField_FloatVector{FloatVector: &schemapb.FloatArray{Data: vectors}}}}},
		}}))
	}
	return in.bodies[n][in.sent%different]
}

// segmentID is of the width of those that Milvus gives.
func segmentID(n int) int64 { return collection + int64(1000+n) }

// fill writes messages of 1,000 rows in turn to all partitions, a new segment
// for each partition after so many, and returns their bytes.
func (w *world) fill(messages, perSegment int) int64 {
	w.t.Helper()
	in := &inserts{w: w}
	now := time.Now()
	for i := range messages {
		p := i % w.partitions
		in.send(p, segmentID(p*100_000+i/w.partitions/perSegment), rows, now.Add(time.Duration(i)*time.Millisecond))
	}
	w.flush()
	return int64(messages) * rows * rowBytes
}

// ends is the number of records of all logs.
func (w *world) ends() (n float64) {
	w.t.Helper()
	ends, err := w.admin().ListEndOffsets(w.t.Context(), topic)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, p := range ends[topic] {
		n += float64(p.Offset)
	}
	return n
}
