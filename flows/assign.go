package flows

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/checkpoints"
)

// Where a flow's error came from.
var (
	errClaim  = errors.New("not claimed")   // before anything was claimed
	errCommit = errors.New("not committed") // from the tracker
)

// assigned starts a supervisor for each partition. Nothing is fetched of them
// until their flows have set the offset.
func (w *Worker) assigned(_ context.Context, client *kgo.Client, parts map[string][]int32) {
	client.PauseFetchPartitions(parts)
	w.metrics.rebalances.Inc()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rounds++
	if w.closing {
		return
	}
	for topic, ids := range parts {
		for _, id := range ids {
			w.start(partition{topic, id})
		}
	}
}

// start makes an assignment. The lock is held.
func (w *Worker) start(p partition) {
	window := func(allowed int) eventWindow { return eventWindow{allowed: allowed, span: w.patience.window} }
	a := &assignment{
		partition: p, done: make(chan struct{}), until: -1,
		failures: window(w.patience.fails), fencings: window(w.patience.fencings),
	}
	a.ctx, a.kill = context.WithCancelCause(w.ctx)
	a.stop, a.drain = context.WithCancel(a.ctx)
	a.status = w.metrics.join(checkpoints.VChannel{Topic: p.topic, Partition: p.id})
	if w.cfg.UntilEnd {
		a.until = w.ends[p].end // 0 for a partition made since: nothing to do
	}
	if old := w.parts[p]; old != nil { // no callback took it away
		old.kill(ErrLost)
		a.before = old.done
	}
	w.parts[p] = a
	go w.supervise(a) // ends before a.done is closed, for which release waits
}

func (w *Worker) revoked(_ context.Context, _ *kgo.Client, parts map[string][]int32) {
	w.giveAway(parts, true)
}

func (w *Worker) lost(_ context.Context, _ *kgo.Client, parts map[string][]int32) {
	w.giveAway(parts, false)
}

// giveAway ends the flows of partitions that go to somebody else: drained
// within the rebalance's time, or dropped without a commit. Nothing of them is
// written after it returns.
func (w *Worker) giveAway(parts map[string][]int32, graceful bool) {
	w.metrics.rebalances.Inc()
	w.mu.Lock()
	var gone []*assignment
	for topic, ids := range parts {
		for _, id := range ids {
			if a := w.parts[partition{topic, id}]; a != nil {
				gone = append(gone, a)
			}
		}
	}
	w.mu.Unlock()
	end(gone, graceful, w.patience.revoke, w.ctx)
	w.release(gone, graceful)
}

// release forgets closed assignments, after it has told Kafka's group their
// last positions if the group still takes that from us.
func (w *Worker) release(gone []*assignment, member bool) {
	w.commits.Lock() // from the last thing told until they are forgotten
	defer w.commits.Unlock()
	if member {
		w.tell(w.ctx, gone)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range gone {
		if w.parts[a.partition] == a {
			delete(w.parts, a.partition)
		}
		a.status.leave()
	}
}

// runFlow runs one flow of an assignment.
func (w *Worker) runFlow(a *assignment) error {
	id, err := topicID(a.ctx, w.client, a.topic)
	if err != nil {
		return fmt.Errorf("%w: %w", errClaim, err)
	}
	a.topicID.Store(&id)
	v := checkpoints.VChannel{Topic: a.topic, Partition: a.id, TopicID: id}
	ctx, fail := context.WithCancelCause(a.ctx)
	defer fail(nil)
	f := &Flow{
		VChannel: v, Bounds: bounds(w.client, v), Lineage: lineage(w.client, v), Told: w.told(v), Until: a.until, Status: a.status, Shared: w.shared,
		Ready: func(from checkpoints.Position, m *Mailbox) {
			w.install(&install{a: a, from: from, mailbox: m, fail: fail})
		},
		Committed: func(t checkpoints.Told) { a.committed.Store(&t) },
	}
	err = f.Run(ctx, a.stop)
	if err == nil || a.ctx.Err() != nil {
		return err
	}
	w.log.Debug().Err(err).Str("vchannel", v.Name()).Msg("flow ended")
	return err
}
