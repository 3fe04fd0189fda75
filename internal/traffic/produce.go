package traffic

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Sending says how a stream is sent to Kafka.
type Sending struct {
	Records int64         // how many; 0: until stop ends
	Rate    float64       // records a second; 0: as fast as the broker takes them
	Sent    func(n int64) // called now and then with the records handed over; may be nil
	Client  []kgo.Opt     // brokers and how to log in to them
}

// burst is how often what is due is sent.
const burst = 5 * time.Millisecond

// Send writes records of the stream to their logs, whose topics must exist,
// until enough are sent or stop ends; then it waits until the broker has all
// of them. Brokers that are away are waited for until ctx ends.
func Send(ctx, stop context.Context, s *Stream, o Sending) error {
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.ClientID("traffic"), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(8 << 20), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerLinger(0),
		kgo.MaxBufferedRecords(1000),
		kgo.UnknownTopicRetries(100), // a new topic may not be known yet where it is to be written to
	}, o.Client...)...)
	if err != nil {
		return fmt.Errorf("kafka client: %w", err)
	}
	defer client.Close()
	var failed atomic.Pointer[error] // the first
	sent := func(_ *kgo.Record, err error) {
		if err != nil {
			failed.CompareAndSwap(nil, &err)
		}
	}
	ticker := time.NewTicker(burst)
	defer ticker.Stop()
	began := time.Now()
	for n := int64(0); (o.Records == 0 || n < o.Records) && stop.Err() == nil && failed.Load() == nil; n++ {
		for o.Rate > 0 && float64(n) > o.Rate*time.Since(began).Seconds() && stop.Err() == nil {
			select {
			case <-ticker.C:
			case <-stop.Done():
			}
		}
		r := s.Next()
		client.Produce(ctx, r.Kafka(), sent)
		if o.Sent != nil {
			o.Sent(n + 1)
		}
	}
	if err := client.Flush(ctx); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	if err := failed.Load(); err != nil {
		return fmt.Errorf("send: %w", *err)
	}
	return nil
}
