package recording

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/checkpoints"
)

// CaptureOptions say what is recorded.
type CaptureOptions struct {
	Partitions map[string][]int32     // by topic
	Follow     bool                   // go on until stop instead of to the ends as of now
	Progress   func(done, left int64) // records written, offsets still ahead; may be nil
	Client     []kgo.Opt              // brokers and how to log in to them
}

// Capture writes what committed readers see of the partitions, from the
// beginning of each log to its last stable offset as of now. Offset order holds
// within a partition; partitions come interleaved. It returns ErrStopped when
// stop ended it before, except when following, which only stop ends.
func Capture(ctx, stop context.Context, w *Writer, o CaptureOptions) error {
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		// Markers are not recorded, but a log may end with one.
		kgo.KeepControlRecords(),
		// A reader that is reset would leave a hole or begin again.
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		// Closing the client races with a fetch that is on its way to open one,
		// and one reader does not need them.
		kgo.DisableFetchSessions(),
	}, o.Client...)...)
	if err != nil {
		return fmt.Errorf("kafka client: %w", err)
	}
	defer client.Close()
	c := &capture{client: client, w: w, o: o, ahead: map[partition]span{}}
	if err := c.locate(ctx); err != nil {
		return err
	}
	return c.poll(ctx, stop)
}

// span is what is still to be read of one partition: [next, end).
type span struct{ next, end int64 }

type capture struct {
	client *kgo.Client
	w      *Writer
	o      CaptureOptions
	ahead  map[partition]span
}

// locate finds start and end of every partition and begins to read there.
func (c *capture) locate(ctx context.Context) error {
	adm := kadm.NewClient(c.client)
	topics := make([]string, 0, len(c.o.Partitions))
	for t := range c.o.Partitions {
		topics = append(topics, t)
	}
	starts, err := adm.ListStartOffsets(ctx, topics...)
	if err != nil {
		return fmt.Errorf("list start offsets: %w", err)
	}
	ends, err := adm.ListCommittedOffsets(ctx, topics...)
	if err != nil {
		return fmt.Errorf("list last stable offsets: %w", err)
	}
	from := map[string]map[int32]kgo.Offset{}
	for topic, ids := range c.o.Partitions {
		for _, id := range ids {
			start, ok := starts.Lookup(topic, id)
			end, ok2 := ends.Lookup(topic, id)
			if !ok || !ok2 {
				return fmt.Errorf("%s-%d: no such partition", topic, id)
			}
			if err := errors.Join(start.Err, end.Err); err != nil {
				return fmt.Errorf("offsets of %s-%d: %w", topic, id, err)
			}
			if start.Offset >= end.Offset && !c.o.Follow {
				continue
			}
			c.ahead[partition{topic, id}] = span{start.Offset, end.Offset}
			if from[topic] == nil {
				from[topic] = map[int32]kgo.Offset{}
			}
			from[topic][id] = kgo.NewOffset().At(start.Offset)
		}
	}
	c.client.AddConsumePartitions(from)
	return nil
}

func (c *capture) poll(ctx, stop context.Context) error {
	polling, end := context.WithCancel(stop)
	defer end()
	defer context.AfterFunc(ctx, end)()
	for len(c.ahead) > 0 {
		fetches := c.client.PollFetches(polling)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if stop.Err() != nil {
			if c.o.Follow {
				return nil
			}
			return fmt.Errorf("%w: %d offsets are not recorded", ErrStopped, c.left())
		}
		for _, e := range fetches.Errors() {
			return fetchError(e)
		}
		for it := fetches.RecordIter(); !it.Done(); {
			if err := c.take(it.Next()); err != nil {
				return err
			}
		}
		if c.o.Progress != nil {
			c.o.Progress(c.w.Records(), c.left())
		}
	}
	return nil
}

func fetchError(e kgo.FetchError) error {
	var lost *kgo.ErrDataLoss
	if errors.Is(e.Err, kerr.OffsetOutOfRange) || errors.As(e.Err, &lost) {
		return fmt.Errorf("%s-%d: %w: %w", e.Topic, e.Partition, ErrGone, e.Err)
	}
	return fmt.Errorf("fetch %s-%d: %w", e.Topic, e.Partition, e.Err)
}

// take writes one record unless it is a marker or beyond the end as of the start.
func (c *capture) take(r *kgo.Record) error {
	p := partition{r.Topic, r.Partition}
	s, ok := c.ahead[p]
	if !ok {
		return nil
	}
	if c.o.Follow || r.Offset < s.end {
		if !r.Attrs.IsControl() {
			if err := c.w.Write(recorded(r)); err != nil {
				return fmt.Errorf("write the recording: %w", err)
			}
		}
		s.next = checkpoints.After(r.Offset)
		c.ahead[p] = s
	}
	if !c.o.Follow && checkpoints.After(r.Offset) >= s.end {
		delete(c.ahead, p)
		c.client.PauseFetchPartitions(map[string][]int32{r.Topic: {r.Partition}})
	}
	return nil
}

// left is an estimate for people: offsets have gaps.
func (c *capture) left() int64 {
	var n int64
	for _, s := range c.ahead {
		n += max(0, s.end-s.next)
	}
	return n
}

func recorded(r *kgo.Record) Record {
	out := Record{
		Topic:     r.Topic,
		Partition: r.Partition,
		Offset:    r.Offset,
		Timestamp: r.Timestamp.UnixMilli(),
		Key:       r.Key,
		Value:     r.Value,
	}
	for _, h := range r.Headers {
		out.Headers = append(out.Headers, Header{Name: h.Key, Value: h.Value})
	}
	return out
}
