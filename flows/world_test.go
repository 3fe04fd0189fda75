package flows

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/devstack"
	"flowgraph/internal/membucket"
	"flowgraph/internal/recording"
)

const topic = "by-dev-rootcoord-dml_0"

// world is a broker, a bucket, and what was written to the one and is
// expected in the other.
type world struct {
	t       *testing.T
	addr    string
	cluster *kfake.Cluster
	bucket  *membucket.Bucket
	client  *kgo.Client
	mu      sync.Mutex
	written []recording.Record
}

func newWorld(t *testing.T, partitions int32) *world {
	t.Helper()
	return worldOn(t, partitions, devstack.BrokerConfig{})
}

func worldOn(t *testing.T, partitions int32, cfg devstack.BrokerConfig) *world {
	t.Helper()
	before := goleak.IgnoreCurrent()
	broker, err := devstack.StartBroker(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, addr: broker.Addr(), cluster: broker.Cluster(), bucket: membucket.New()}
	w.dial()
	t.Cleanup(func() {
		w.client.Close()
		w.cluster.Close()
		goleak.VerifyNone(t, before)
	})
	if partitions > 0 {
		w.create(topic, partitions)
	}
	return w
}

// dial makes the producing client, which sticks to the topics it has met.
func (w *world) dial() {
	w.t.Helper()
	if w.client != nil {
		w.client.Close()
	}
	var err error
	w.client, err = kgo.NewClient(kgo.SeedBrokers(w.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(15<<20), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.MetadataMinAge(50*time.Millisecond))
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) admin() *kadm.Client { return kadm.NewClient(w.client) }

func (w *world) create(name string, partitions int32) {
	w.t.Helper()
	r, err := w.admin().CreateTopic(w.t.Context(), partitions, 1, nil, name)
	if err := errors.Join(err, r.Err); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) remove(name string) {
	w.t.Helper()
	if _, err := w.admin().DeleteTopic(w.t.Context(), name); err != nil {
		w.t.Fatal(err)
	}
}

// produce writes values to the topic's partition and expects them stored.
func (w *world) produce(partition int32, values ...[]byte) {
	w.t.Helper()
	w.produceTo(topic, partition, values...)
}

func (w *world) produceTo(topic string, partition int32, values ...[]byte) {
	w.t.Helper()
	var records []*kgo.Record
	for _, v := range values {
		records = append(records, &kgo.Record{Topic: topic, Partition: partition, Value: v})
	}
	if err := w.client.ProduceSync(w.t.Context(), records...).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range records {
		w.written = append(w.written, recording.Record{
			Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli(), Value: r.Value,
		})
	}
}

// expected is what must be in the bucket.
func (w *world) expected(prepare ...func(*archive.Expected)) *archive.Expected {
	w.mu.Lock()
	defer w.mu.Unlock()
	x := archive.NewExpected()
	for _, p := range prepare {
		p(x)
	}
	for _, r := range w.written {
		x.Add(r)
	}
	return x
}

// exact compares the bucket with all that was written.
func (w *world) exact(o archive.CheckOptions) {
	w.t.Helper()
	report, err := archive.Check(w.t.Context(), w.bucket, w.expected(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	if report.Err() != nil {
		w.t.Errorf("%s", report)
	}
}

// forget takes everything written so far out of what is expected.
func (w *world) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.written = nil
}

func (w *world) document(partition int32) *checkpoints.Document {
	w.t.Helper()
	d, _, err := checkpoints.Load(w.t.Context(), w.bucket, vchannel(partition))
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

func vchannel(partition int32) string { return fmt.Sprintf("%s-%d", topic, partition) }

// groupOffset is what Kafka's group was told, -1 if nothing.
func (w *world) groupOffset(partition int32) int64 {
	w.t.Helper()
	offsets, err := w.admin().FetchOffsets(w.t.Context(), "flowgraph")
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		w.t.Fatal(err)
	}
	o, ok := offsets.Lookup(topic, partition)
	if !ok {
		return -1
	}
	return o.At
}

// until polls a condition: real sockets know no other way.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain until %s", what)
		case <-ticker.C:
		}
	}
}
