package flows

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/checkpoints"
)

// logEnd is where a log ended when the worker started.
type logEnd struct {
	start, end int64
	asked      time.Time // when its document was last read
}

// listEnds asks where the logs of all topics end, before the group gives out
// any of them.
func (w *Worker) listEnds(ctx context.Context) (map[partition]logEnd, error) {
	client, err := kgo.NewClient(w.clientOptions()...)
	if err != nil {
		return nil, fmt.Errorf("kafka client: %w", err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	match, err := w.cfg.match()
	if err != nil {
		return nil, err
	}
	topics, err := admin.ListTopics(ctx)
	if err != nil {
		return nil, fmt.Errorf("list topics: %w", err)
	}
	var names []string
	for name := range topics {
		if _, listed := w.cfg.Partitions[name]; listed || match(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no topic matches %q; Kafka shows a user only those that it may Describe", w.cfg.Topics)
	}
	starts, err := admin.ListStartOffsets(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("list offsets: %w", err)
	}
	stable, err := admin.ListCommittedOffsets(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("list offsets: %w", err)
	}
	if err := errors.Join(starts.Error(), stable.Error()); err != nil {
		return nil, fmt.Errorf("list offsets: %w", err)
	}
	ends := map[partition]logEnd{}
	stable.Each(func(o kadm.ListedOffset) {
		s, _ := starts.Lookup(o.Topic, o.Partition)
		ends[partition{o.Topic, o.Partition}] = logEnd{start: s.Offset, end: o.Offset}
	})
	if len(w.cfg.Partitions) > 0 {
		return w.onlyListed(ends)
	}
	return ends, nil
}

func (w *Worker) onlyListed(all map[partition]logEnd) (map[partition]logEnd, error) {
	ends := map[partition]logEnd{}
	for topic, ids := range w.cfg.Partitions {
		for _, id := range ids {
			p := partition{topic, id}
			e, ok := all[p]
			if !ok {
				return nil, fmt.Errorf("there is no partition %s:%d", topic, id)
			}
			ends[p] = e
		}
	}
	return ends, nil
}

// endsEvery is how often a worker with UntilEnd looks whether it is done.
const endsEvery = 20 * time.Millisecond

// finished says whether every log has been read and stored to its end, by
// this worker or by others of its group; left loses those that have. A stopped
// vchannel counts: it will not get further.
func (w *Worker) finished(ctx context.Context, left map[partition]logEnd) bool {
	w.mu.Lock()
	rounds, mine := w.rounds, maps.Clone(w.parts)
	w.mu.Unlock()
	if rounds == 0 {
		return false
	}
	for p, e := range left {
		a := mine[p]
		if a == nil && !w.reachedElsewhere(ctx, p, &e) || a != nil && !a.ended() {
			left[p] = e
			return false
		}
		delete(left, p)
	}
	return true
}

// ended says whether the assignment has nothing more to do.
func (a *assignment) ended() bool {
	if a.stopped.Load() {
		return true
	}
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// reachedElsewhere reads the document of a partition that another worker has.
func (w *Worker) reachedElsewhere(ctx context.Context, p partition, e *logEnd) bool {
	if e.end <= e.start {
		return true
	}
	if time.Since(e.asked) < time.Second {
		return false
	}
	e.asked = time.Now()
	name := checkpoints.VChannel{Topic: p.topic, Partition: p.id}.Name()
	doc, _, err := checkpoints.Load(ctx, w.shared.Sink.Bucket, name)
	if err != nil {
		w.log.Debug().Err(err).Str("vchannel", name).Msg("its document cannot be read yet")
		return false
	}
	return doc.Seek.Offset >= e.end
}
