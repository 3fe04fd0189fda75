package recording

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/checkpoints"
)

// Span is what a partition's log holds: offsets [Start, End), where End is
// the last stable offset when it was asked for.
type Span struct{ Start, End int64 }

// Log reads what committed readers see of partitions, from the beginning of
// each log to its last stable offset as of Dial.
type Log struct {
	client *kgo.Client
	o      CaptureOptions
	spans  map[string]Span    // by vchannel
	ahead  map[partition]Span // what is still to be read
}

// Dial asks for the bounds of the partitions that o names; nothing is read
// yet. The caller closes the log.
func Dial(ctx context.Context, o CaptureOptions) (*Log, error) {
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		// Markers are not yielded, but a log may end with one.
		kgo.KeepControlRecords(),
		// A reader that is reset would leave a hole or begin again.
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		// Closing the client races with a fetch that is on its way to open one,
		// and one reader does not need them.
		kgo.DisableFetchSessions(),
	}, o.Client...)...)
	if err != nil {
		return nil, fmt.Errorf("kafka client: %w", err)
	}
	l := &Log{client: client, o: o, spans: map[string]Span{}, ahead: map[partition]Span{}}
	if err := l.locate(ctx); err != nil {
		client.Close()
		return nil, err
	}
	return l, nil
}

// Close ends the client.
func (l *Log) Close() { l.client.Close() }

// Spans are the bounds by vchannel. The map must not be changed.
func (l *Log) Spans() map[string]Span { return l.spans }

// locate finds start and end of every partition and begins to read there.
func (l *Log) locate(ctx context.Context) error {
	adm := kadm.NewClient(l.client)
	topics := slices.Collect(maps.Keys(l.o.Partitions))
	starts, err := adm.ListStartOffsets(ctx, topics...)
	if err != nil {
		return fmt.Errorf("list start offsets: %w", err)
	}
	ends, err := adm.ListCommittedOffsets(ctx, topics...)
	if err != nil {
		return fmt.Errorf("list last stable offsets: %w", err)
	}
	from := map[string]map[int32]kgo.Offset{}
	for topic, ids := range l.o.Partitions {
		for _, id := range ids {
			start, ok := starts.Lookup(topic, id)
			end, ok2 := ends.Lookup(topic, id)
			if !ok || !ok2 {
				return fmt.Errorf("%s-%d: no such partition", topic, id)
			}
			if err := errors.Join(start.Err, end.Err); err != nil {
				return fmt.Errorf("offsets of %s-%d: %w", topic, id, err)
			}
			span := Span{start.Offset, max(start.Offset, end.Offset)}
			l.spans[checkpoints.VChannel{Topic: topic, Partition: id}.Name()] = span
			if span.Start == span.End && !l.o.Follow {
				continue
			}
			l.ahead[partition{topic, id}] = span
			if from[topic] == nil {
				from[topic] = map[int32]kgo.Offset{}
			}
			from[topic][id] = kgo.NewOffset().At(start.Offset)
		}
	}
	l.client.AddConsumePartitions(from)
	return nil
}

// Read hands every record to take, in offset order within a partition;
// partitions come interleaved. It returns ErrStopped when stop ended it before
// the ends were reached, except when following, which only stop ends, and
// ErrGone when records were deleted before they were read.
func (l *Log) Read(ctx, stop context.Context, take func(Record) error) error {
	polling, end := context.WithCancel(stop)
	defer end()
	defer context.AfterFunc(ctx, end)()
	done := int64(0)
	for len(l.ahead) > 0 {
		fetches := l.client.PollFetches(polling)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if stop.Err() != nil {
			if l.o.Follow {
				return nil
			}
			return fmt.Errorf("%w: %d offsets are not recorded", ErrStopped, l.left())
		}
		for _, e := range fetches.Errors() {
			return fetchError(e)
		}
		for it := fetches.RecordIter(); !it.Done(); {
			taken, err := l.take(it.Next(), take)
			if err != nil {
				return err
			}
			done += taken
		}
		if l.o.Progress != nil {
			l.o.Progress(done, l.left())
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

// take hands on one record unless it is a marker or beyond the end as of the
// start, and returns how many it handed on.
func (l *Log) take(r *kgo.Record, take func(Record) error) (taken int64, err error) {
	p := partition{r.Topic, r.Partition}
	s, ok := l.ahead[p]
	if !ok {
		return 0, nil
	}
	if l.o.Follow || r.Offset < s.End {
		if !r.Attrs.IsControl() {
			taken = 1
			if err := take(recorded(r)); err != nil {
				return 0, err
			}
		}
		s.Start = checkpoints.After(r.Offset)
		l.ahead[p] = s
	}
	if !l.o.Follow && checkpoints.After(r.Offset) >= s.End {
		delete(l.ahead, p)
		l.client.PauseFetchPartitions(map[string][]int32{r.Topic: {r.Partition}})
	}
	return taken, nil
}

// left is an estimate for people: offsets have gaps.
func (l *Log) left() int64 {
	var n int64
	for _, s := range l.ahead {
		n += max(0, s.End-s.Start)
	}
	return n
}
