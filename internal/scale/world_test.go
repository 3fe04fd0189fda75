//go:build linux

package scale

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/msgpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"flowgraph/internal/devstack"
	"flowgraph/internal/nullstore"
)

const (
	topic      = "scale"
	bucket     = "scale"
	collection = int64(450000000000000001)
	dim        = 128
	rows       = 1000              // of an insert
	rowBytes   = 8 + 9 + 9 + 4*dim // of a row in the log, about
)

// world is a broker with one topic, and a store.
type world struct {
	t          *testing.T
	broker     *devstack.Broker
	store      *nullstore.Store
	client     *kgo.Client
	partitions int
}

func newWorld(t *testing.T, partitions int, keepAll bool) *world {
	t.Helper()
	broker, err := devstack.StartBroker(devstack.BrokerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	store, err := nullstore.Start(keepAll)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	client, err := kgo.NewClient(append(broker.Client(), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerBatchMaxBytes(8<<20),
		kgo.MaxBufferedRecords(100_000), kgo.MaxBufferedBytes(256<<20))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	most := "16777216"
	if _, err := kadm.NewClient(client).CreateTopic(t.Context(), int32(partitions), 1, map[string]*string{"max.message.bytes": &most}, topic); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, broker: broker, store: store, client: client, partitions: partitions}
	for p := range partitions {
		w.send(p, createCollection(t))
	}
	w.flush()
	return w
}

func (w *world) admin() *kadm.Client { return kadm.NewClient(w.client) }

func (w *world) send(partition int, value []byte) { w.sendAt(time.Now(), partition, value) }

// sendAt writes a record of a moment: log time is its timestamp.
func (w *world) sendAt(at time.Time, partition int, value []byte) {
	w.client.Produce(w.t.Context(), &kgo.Record{Topic: topic, Partition: int32(partition), Value: value, Timestamp: at}, nil)
}

func (w *world) flush() {
	w.t.Helper()
	if err := w.client.Flush(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// tick writes a time tick to every partition each 200 ms, as a Milvus does,
// until the function returned is called.
func (w *world) tick() (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	var ticking sync.WaitGroup
	ticking.Go(func() {
		ticker := time.NewTicker(200 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-ticker.C:
				w.sendTicks(now, now)
			}
		}
	})
	return func() {
		cancel()
		ticking.Wait()
	}
}

func (w *world) sendTicks(at, tick time.Time) {
	value := marshal(w.t, &msgpb.TimeTickMsg{Base: &commonpb.MsgBase{
		MsgType: commonpb.MsgType_TimeTick, Timestamp: uint64(tick.UnixMilli()) << 18}})
	for p := range w.partitions {
		w.sendAt(at, p, value)
	}
}

// tickOnce ends the logs at a moment with a tick above all rows.
func (w *world) tickOnce(at time.Time) {
	w.t.Helper()
	w.sendTicks(at, time.Now().Add(time.Hour))
	w.flush()
}

func marshal(t *testing.T, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func createCollection(t *testing.T) []byte {
	schema := marshal(t, &schemapb.CollectionSchema{Name: "scale", Fields: []*schemapb.FieldSchema{
		{FieldID: 100, Name: "pk", DataType: schemapb.DataType_Int64, IsPrimaryKey: true},
		{FieldID: 101, Name: "vec", DataType: schemapb.DataType_FloatVector,
			TypeParams: []*commonpb.KeyValuePair{{Key: "dim", Value: strconv.Itoa(dim)}}},
	}})
	return marshal(t, &msgpb.CreateCollectionRequest{
		Base:         &commonpb.MsgBase{MsgType: commonpb.MsgType_CreateCollection, Timestamp: 1 << 18},
		CollectionID: collection, PartitionIDs: []int64{collection + 1},
		//lint:ignore SA1019 every release up to 2.5 writes the serialized schema
		Schema: schema,
	})
}
