package flows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/checkpoints"
	"flowgraph/stages"
)

// install is a flow that has claimed its vchannel and waits for records.
type install struct {
	a       *assignment
	from    checkpoints.Position
	mailbox *Mailbox
	fail    context.CancelCauseFunc
}

// install hands a flow to the poll loop. Only that loop sets offsets and
// resumes, between two polls: so no record fetched for an earlier flow of the
// partition can reach a later one.
func (w *Worker) install(i *install) {
	w.mu.Lock()
	w.ready = append(w.ready, i)
	w.interrupt()
	w.mu.Unlock()
}

// poll fetches for all flows until the worker ends.
func (w *Worker) poll() {
	for w.ctx.Err() == nil {
		w.installReady()
		if !w.admits() {
			w.pause(5 * time.Millisecond)
			continue
		}
		fetches := w.client.PollFetches(w.interruptible())
		if fetches.IsClientClosed() {
			return
		}
		now := time.Now()
		fetches.EachTopic(func(t kgo.FetchTopic) {
			id := ""
			if t.TopicID != [16]byte{} { // an old broker gives none
				id = topicIDText(t.TopicID)
			}
			for i := range t.Partitions {
				w.dispatch(t.Topic, id, &t.Partitions[i], now)
			}
		})
	}
}

// interruptible returns a context for one poll, which a flow that becomes
// ready ends, or a request.
func (w *Worker) interruptible() context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.interrupt() // the last poll's, to free it
	patience := time.Second
	if w.throttled { // a flow that has caught up must not wait for the others' records
		patience = 10 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	w.interrupt = cancel
	if len(w.ready) > 0 || w.held {
		cancel()
	}
	return ctx
}

// pause waits before memory is looked at again.
func (w *Worker) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.ctx.Done():
	}
}

// installReady sets the offsets of new flows, of all at once: each time the
// client throws away what it has fetched.
func (w *Worker) installReady() {
	w.mu.Lock()
	ready := w.ready
	w.ready = nil
	w.mu.Unlock()
	offsets, parts := map[string]map[int32]kgo.EpochOffset{}, map[string][]int32{}
	for _, i := range ready {
		if i.mailbox.isClosed() {
			continue
		}
		i.a.installed.Store(i)
		i.a.paused = false
		i.a.status.paused.set(false, time.Now())
		if offsets[i.a.topic] == nil {
			offsets[i.a.topic] = map[int32]kgo.EpochOffset{}
		}
		offsets[i.a.topic][i.a.id] = kgo.EpochOffset{Epoch: -1, Offset: i.from.Offset}
		i.a.held.Store(i.a.isPaused())
		if !i.a.held.Load() {
			parts[i.a.topic] = append(parts[i.a.topic], i.a.id)
		}
	}
	w.client.SetOffsets(offsets)
	w.client.ResumeFetchPartitions(parts)
	for _, i := range ready {
		// A flow that ended meanwhile may have paused its partition just
		// before it was resumed here.
		if i.mailbox.isClosed() {
			w.detach(i)
		}
	}
}

// detach takes a flow that takes no more records off its partition.
func (w *Worker) detach(i *install) {
	if i.a.installed.CompareAndSwap(i, nil) {
		w.client.PauseFetchPartitions(map[string][]int32{i.a.topic: {i.a.id}})
	}
}

// dispatch hands one partition's records to its flow, or ends the flow on an
// error before any record is taken.
func (w *Worker) dispatch(topic, id string, f *kgo.FetchPartition, now time.Time) {
	w.mu.Lock()
	a := w.parts[partition{topic, f.Partition}]
	w.mu.Unlock()
	if a == nil {
		if session := (*kgo.ErrGroupSession)(nil); errors.As(f.Err, &session) {
			w.kafka.trouble(f.Err) // the group does not take us
		}
		return
	}
	i := a.installed.Load()
	if i == nil {
		return
	}
	if i.mailbox.isClosed() { // it has reached where it is to end
		w.detach(i)
		return
	}
	if err := fetchError(a, id, f); err != nil {
		// The error would come back with every poll, thousands of times a second.
		w.detach(i)
		i.fail(err)
		return
	}
	if f.LogStartOffset > 0 {
		a.status.logStart.Store(f.LogStartOffset)
	}
	if f.LastStableOffset > 0 {
		a.status.logEnd.Store(f.LastStableOffset)
	}
	for records := f.Records; len(records) > 0; {
		var raw *stages.Raw
		raw, records = batch(&w.slabs, records, now)
		w.metrics.fetchedRecords.Add(float64(len(raw.Records)))
		w.metrics.fetchedBytes.Add(float64(raw.Bytes - recordOverhead*int64(len(raw.Records))))
		i.mailbox.Put(raw)
	}
}

// fetchError says why the records of a fetch may not be taken.
func fetchError(a *assignment, id string, f *kgo.FetchPartition) error {
	if known := a.topicID.Load(); known != nil && len(f.Records) > 0 && id != "" && id != *known {
		return recreated(a, id)
	}
	if f.Err == nil || errors.Is(f.Err, context.DeadlineExceeded) || errors.Is(f.Err, context.Canceled) {
		return nil
	}
	var loss *kgo.ErrDataLoss
	if errors.As(f.Err, &loss) {
		return fmt.Errorf("%w: %w", ErrDataLoss, f.Err)
	}
	var answered *kerr.Error
	switch {
	case errors.Is(f.Err, kgo.ErrMaxDecompress):
		return fmt.Errorf("%w: %w; a larger --memory-budget allows more", ErrTooLarge, f.Err)
	case !errors.As(f.Err, &answered):
		return fmt.Errorf("%w: %w", ErrUnreadable, f.Err)
	}
	return fmt.Errorf("fetch: %w", f.Err) // out of range too: the next flow compares with the log's bounds
}

// recordOverhead is what a record costs beside its bytes.
const recordOverhead = 200

// batchBytes keeps batches of small records so small that what the stages
// make of one is still in the processor's cache when the next stage reads it.
const batchBytes = 512 << 10

// batch takes the first records of a fetch, one at least, and returns the rest.
func batch(slabs *stages.Slabs, records []*kgo.Record, now time.Time) (*stages.Raw, []*kgo.Record) {
	n := 0
	for bytes := 0; n < len(records) && bytes < batchBytes; n++ {
		bytes += len(records[n].Value) + recordOverhead
	}
	raw := slabs.Raw(n)
	raw.Now = now.UnixMilli()
	for _, r := range records[:n] {
		raw.Add(stages.Record{
			Offset: r.Offset, LeaderEpoch: r.LeaderEpoch, Time: r.Timestamp.UnixMilli(),
			Control: r.Attrs.IsControl(), Key: r.Key, Value: r.Value,
		})
		raw.Bytes += int64(len(r.Key)+len(r.Value)) + recordOverhead
		for _, h := range r.Headers {
			raw.AddHeader(h.Key, h.Value)
			raw.Bytes += int64(len(h.Key) + len(h.Value))
		}
	}
	return raw, records[n:]
}
