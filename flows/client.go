package flows

import (
	"context"
	"encoding/base64"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"flowgraph/checkpoints"
)

const (
	fetchLeast, fetchMost = 1 << 20, 16 << 20 // bytes on the wire
	fetchShare            = 16                // of the memory budget
	// fetchWait is how long a broker holds a fetch that finds nothing. A broker is
	// asked once at a time, so a partition that was paused for memory and is not in
	// that fetch waits as long, while others are at the end of their logs.
	fetchWait        = 250 * time.Millisecond
	metadataMaxAge   = 10 * time.Second // how soon new topics and partitions are found
	rebalanceTimeout = 60 * time.Second
)

// clientOptions are those of every client.
func (w *Worker) clientOptions() []kgo.Opt {
	return append(append([]kgo.Opt{kgo.SeedBrokers(w.cfg.Brokers...), kgo.ClientID("flowgraph")}, w.cfg.Client...), kgo.WithLogger(clientLog{w.kafka.trouble, w.cfg.ClientLog}))
}

// newClient makes the consuming client. Where reading begins is never the
// client's to decide: every partition is paused until its flow has loaded its
// checkpoint and set the offset.
func (w *Worker) newClient() (*kgo.Client, error) {
	opts := append(w.clientOptions(),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(),
		kgo.FetchMaxWait(fetchWait),
		kgo.FetchMaxBytes(w.fetchBytes()), kgo.FetchMaxPartitionBytes(max(w.fetchBytes()/4, fetchLeast)),
		kgo.BrokerMaxReadBytes(1<<30), kgo.MaxDecompressBatchBytes(w.batchMost()),
		kgo.MetadataMaxAge(w.patience.topics), kgo.MetadataMinAge(min(time.Second, w.patience.topics/4)),
		kgo.WithHooks(&w.heartbeat, &w.kafka),
	)
	if len(w.cfg.Partitions) > 0 {
		parts := map[string]map[int32]kgo.Offset{}
		for topic, ps := range w.cfg.Partitions {
			parts[topic] = map[int32]kgo.Offset{}
			for _, p := range ps {
				parts[topic][p] = kgo.NewOffset().AtStart()
			}
		}
		// A direct consumer's Close races with a fetch that opens a session.
		return kgo.NewClient(append(opts, kgo.ConsumePartitions(parts), kgo.DisableFetchSessions())...)
	}
	opts = append(opts,
		kgo.ConsumeRegex(), kgo.ConsumeTopics(w.cfg.Topics...), kgo.ConsumerGroup(w.cfg.Group),
		kgo.Balancers(kgo.CooperativeStickyBalancer()), kgo.DisableAutoCommit(),
		kgo.SessionTimeout(w.cfg.SessionTimeout), kgo.HeartbeatInterval(w.cfg.SessionTimeout/4),
		kgo.RebalanceTimeout(rebalanceTimeout),
		kgo.OnPartitionsAssigned(w.assigned), kgo.OnPartitionsRevoked(w.revoked), kgo.OnPartitionsLost(w.lost),
		kgo.AdjustFetchOffsetsFn(fromStart), kgo.WithHooks(member{w}),
	)
	if w.cfg.ServerSide {
		opts = append(opts, kgo.ServerSideBalancer()) // with the balancer above as its fallback, which member refuses
	}
	if w.cfg.InstanceID != "" {
		opts = append(opts, kgo.InstanceID(w.cfg.InstanceID))
	}
	return kgo.NewClient(opts...)
}

// fetchBytes is how much one fetch may bring: little beside the memory budget,
// which it may exceed, compressed as it is; enough to cost nothing.
func (w *Worker) fetchBytes() int32 {
	return int32(min(max(w.cfg.MemoryBudget/fetchShare, fetchLeast), fetchMost))
}

// batchMost is what one batch may decompress to. Little bytes make much
// memory, and one batch must not end every worker that meets it.
func (w *Worker) batchMost() int {
	return int(min(max(w.cfg.MemoryBudget, 64<<20), 1<<30))
}

// fromStart disregards what Kafka stored for the group; the partitions are
// paused, and their flows set the offset that counts.
func fromStart(_ context.Context, m map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	for _, ps := range m {
		for p := range ps {
			ps[p] = kgo.NewOffset().AtStart()
		}
	}
	return m, nil
}

// topicID asks the broker, past every cache, which creation of a topic it has.
func topicID(ctx context.Context, client *kgo.Client, topic string) (string, error) {
	req := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(topic)
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return "", fmt.Errorf("metadata of topic %s: %w", topic, err)
	}
	if len(resp.Topics) == 0 {
		return "", fmt.Errorf("metadata of topic %s: the broker does not mention it", topic)
	}
	if err := kerr.ErrorForCode(resp.Topics[0].ErrorCode); err != nil {
		return "", fmt.Errorf("metadata of topic %s: %w", topic, err)
	}
	return topicIDText(resp.Topics[0].TopicID), nil
}

// topicIDText writes a topic ID as Kafka does, without characters that mean
// something in an object's key.
func topicIDText(id [16]byte) string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// bounds asks for a log's start and its last stable offset.
func bounds(client *kgo.Client, v checkpoints.VChannel) Bounds {
	return func(ctx context.Context) (start, end int64, err error) {
		const latest, earliest = -1, -2 // as timestamps on the wire
		if start, err = listOffset(ctx, client, v, earliest); err != nil {
			return 0, 0, err
		}
		end, err = listOffset(ctx, client, v, latest)
		return start, end, err
	}
}

// listOffset asks for this partition alone: there may be a thousand, and each
// flow asks.
func listOffset(ctx context.Context, client *kgo.Client, v checkpoints.VChannel, timestamp int64) (int64, error) {
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp = v.Partition, timestamp
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic, t.Partitions = v.Topic, append(t.Partitions, p)
	req := kmsg.NewPtrListOffsetsRequest()
	req.IsolationLevel, req.Topics = 1, append(req.Topics, t) // read committed: the latest is the last stable
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return 0, err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			return p.Offset, kerr.ErrorForCode(p.ErrorCode)
		}
	}
	return 0, fmt.Errorf("the broker does not list partition %d", v.Partition)
}

// heartbeat notes when the group last answered a heartbeat.
type heartbeat struct{ at atomic.Int64 }

// OnBrokerRead implements kgo.HookBrokerRead.
func (h *heartbeat) OnBrokerRead(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	const classic, consumer = 12, 68
	if err == nil && (key == classic || key == consumer) {
		h.at.Store(time.Now().UnixNano())
	}
}

// after says whether a heartbeat was answered later than t.
func (h *heartbeat) after(t time.Time) bool { return h.at.Load() > t.UnixNano() }

// clientLog takes what health shows from the client's warnings, and hands them
// on to whoever knows what they mean.
type clientLog struct {
	trouble func(error)
	next    kgo.Logger // nil: nobody
}

func (l clientLog) Level() kgo.LogLevel { return kgo.LogLevelWarn }

func (l clientLog) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	for i := 0; i+1 < len(keyvals); i += 2 {
		if err, ok := keyvals[i+1].(error); ok && err != nil {
			l.trouble(err)
		}
	}
	if l.next != nil {
		l.next.Log(level, msg, keyvals...)
	}
}
