package flows

import (
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A batch that nobody can decode stops its vchannel; it neither ends the
// worker nor holds up the others.
func TestABatchThatNobodyCanDecodeEndsEveryWorker(t *testing.T) {
	w := newWorld(t, 2)
	w.produce(0, createCollection(collectionID), insert(7, 1, 10))
	w.produce(1, createCollection(collectionID), insert(8, 100, 10))
	l := w.startWith(func(w *Worker) {
		w.patience.fails = 3
		eager(w)
	}).until(0, 2).until(1, 2)
	w.cluster.ControlKey(1, func(req kmsg.Request) (kmsg.Response, error, bool) {
		w.cluster.KeepControl()
		return damaged(req.(*kmsg.FetchRequest)), nil, true
	})
	if s := l.has(0, "stopped"); !strings.Contains(s.Error, "cannot be decoded") {
		t.Errorf("the error is %q", s.Error)
	}
	if s := l.status(1); s.State != "running" {
		t.Errorf("the other vchannel is %s: %s", s.State, s.Error)
	}
	w.cluster.ControlKey(1, func(kmsg.Request) (kmsg.Response, error, bool) {
		w.cluster.DropControl()
		return nil, nil, false
	})
	l.drain()
	if err := l.wait(); err != nil && strings.Contains(err.Error(), vchannel(1)) {
		t.Errorf("the worker ended with %v", err)
	}
}

// damaged answers a fetch: partition 0 has a batch whose checksum is another.
func damaged(req *kmsg.FetchRequest) *kmsg.FetchResponse {
	resp := req.ResponseKind().(*kmsg.FetchResponse)
	for _, t := range req.Topics {
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic, topic.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			part := kmsg.NewFetchResponseTopicPartition()
			part.Partition, part.HighWatermark, part.LastStableOffset = p.Partition, p.FetchOffset, p.FetchOffset
			if p.Partition == 0 {
				part.HighWatermark, part.LastStableOffset = p.FetchOffset+1, p.FetchOffset+1
				part.RecordBatches = batchOf(p.FetchOffset)
			}
			topic.Partitions = append(topic.Partitions, part)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}

func batchOf(offset int64) []byte {
	b := kmsg.RecordBatch{FirstOffset: offset, Magic: 2, NumRecords: 1, PartitionLeaderEpoch: -1, ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, Records: []byte{0}}
	b.Length = int32(len(b.AppendTo(nil)) - 12)
	raw := b.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli))+1)
	return raw
}

// A few kilobytes that decompress to more than the worker may use stop their
// vchannel, at once and with the setting that helps.
func TestAFewBytesThatDecompressToMuchTakeAllMemory(t *testing.T) {
	w := newWorld(t, 2)
	w.produce(1, createCollection(collectionID), insert(8, 100, 10))
	l := w.start(small).until(1, 2)
	bomb, err := kgo.NewClient(kgo.SeedBrokers(w.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(128<<20),
		kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.ProducerLinger(0), kgo.BrokerMaxWriteBytes(1<<30))
	if err != nil {
		t.Fatal(err)
	}
	defer bomb.Close()
	if err := bomb.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: make([]byte, 70<<20)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if s := l.has(0, "stopped"); !strings.Contains(s.Error, "--memory-budget") {
		t.Errorf("the error is %q", s.Error)
	}
	l.drain()
	if err := l.wait(); err != nil && strings.Contains(err.Error(), vchannel(1)) {
		t.Errorf("the worker ended with %v", err)
	}
}
