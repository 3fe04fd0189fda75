package recording

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ReplayOptions say how a recording is replayed.
type ReplayOptions struct {
	Append   bool                 // replay into topics that hold records already
	Rate     float64              // records a second over all partitions; 0 = as fast as it goes
	Progress func(done, of int64) // called after each record handed to the client; may be nil
	Scanned  func(done, of int64) // bytes of the file read before the first record is produced; may be nil
	Client   []kgo.Opt            // brokers and how to log in to them
}

// Replay produces every record of the file to its topic and partition, in the
// order of the file, with key, value, headers and timestamp as recorded;
// offsets are the broker's. Topics that are missing are made. It returns what
// was replayed; ErrNotEmpty, or ErrStopped when stop ended before the file did.
func Replay(ctx, stop context.Context, path string, o ReplayOptions) (Survey, error) {
	s, err := scan(stop, path, o.Scanned)
	if err != nil {
		return s, stopped(stop, err)
	}
	client, err := kgo.NewClient(append(producer(s), o.Client...)...)
	if err != nil {
		return s, fmt.Errorf("kafka client: %w", err)
	}
	defer client.Close()
	if err := prepareTopics(stop, kadm.NewClient(client), s, o.Append); err != nil {
		return s, stopped(stop, err)
	}
	return s, produce(ctx, stop, client, path, s, o)
}

// producer is set for order and completeness: idempotent with acks from all
// in-sync replicas is kgo's default, and the first failure ends the replay.
func producer(s Survey) []kgo.Opt {
	batch := s.maxBatchBytes()
	return []kgo.Opt{
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(batch),
		kgo.BrokerMaxWriteBytes(max(100<<20, batch+batchOverhead)),
		kgo.MaxBufferedBytes(max(64<<20, 2*int(batch))),
		kgo.StopProducerOnDataLossDetected(),
		// A topic just made is not known to every broker at once.
		kgo.UnknownTopicRetries(30),
	}
}

func produce(ctx, stop context.Context, client *kgo.Client, path string, s Survey, o ReplayOptions) error {
	r, err := Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	rate, n := pace{rate: o.Rate}, int64(0)
	for rec, err := range r.All() {
		if err != nil {
			return err
		}
		if err := rate.wait(stop, n); err != nil || stop.Err() != nil {
			return errors.Join(flush(ctx, client), fmt.Errorf("%w: %d of %d records are replayed", ErrStopped, n, s.Records))
		}
		// A record that fails cancels the context before a later record of
		// its partition could be taken in its place.
		client.Produce(ctx, rec.Kafka(), func(kr *kgo.Record, err error) {
			if err != nil {
				fail(fmt.Errorf("produce offset %d of %s: %w", rec.Offset, rec.vchannel(), err))
			}
		})
		if ctx.Err() != nil {
			break
		}
		if n++; o.Progress != nil {
			o.Progress(n, s.Records)
		}
	}
	return flush(ctx, client)
}

// flush waits until everything produced is acknowledged, or returns what
// failed first.
func flush(ctx context.Context, client *kgo.Client) error {
	if err := client.Flush(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}

func stopped(stop context.Context, err error) error {
	if stop.Err() != nil {
		return fmt.Errorf("%w: %w", ErrStopped, err)
	}
	return err
}
