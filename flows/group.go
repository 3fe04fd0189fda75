package flows

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"flowgraph/checkpoints"
)

// tellEvery is how often Kafka's group is told the seek positions, and which
// versions of the documents they are of. It is a hint for people and lag tools,
// at a claim a reason to look, and never read as truth.
const tellEvery = 5 * time.Second

func (w *Worker) tellGroup() {
	if w.cfg.Group == "" || len(w.cfg.Partitions) > 0 {
		return
	}
	ticker := time.NewTicker(tellEvery)
	defer ticker.Stop()
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-ticker.C:
			w.mu.Lock()
			all := make([]*assignment, 0, len(w.parts))
			for _, a := range w.parts {
				all = append(all, a)
			}
			w.mu.Unlock()
			w.commits.Lock()
			w.tell(w.ctx, all)
			w.commits.Unlock()
		}
	}
}

// telling is what the group is being told of an assignment.
type telling struct {
	*assignment
	now checkpoints.Told
}

// tell commits what is new to the group. Worker.commits is held, so that
// nothing is told of a partition once release has returned.
func (w *Worker) tell(ctx context.Context, all []*assignment) {
	if len(w.cfg.Partitions) > 0 {
		return
	}
	offsets, told := map[string]map[int32]kgo.EpochOffset{}, map[partition]telling{}
	for _, a := range all {
		now := a.committed.Load()
		w.mu.Lock()
		ours := w.parts[a.partition] == a
		w.mu.Unlock()
		if !ours || a.stopped.Load() || now == nil || *now == a.told {
			continue
		}
		told[a.partition] = telling{a, *now}
		if offsets[a.topic] == nil {
			offsets[a.topic] = map[int32]kgo.EpochOffset{}
		}
		offsets[a.topic][a.id] = kgo.EpochOffset{Epoch: now.Seek.LeaderEpoch, Offset: now.Seek.Offset}
	}
	if len(offsets) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tellEvery)
	defer cancel()
	ctx = kgo.PreCommitFnContext(ctx, func(req *kmsg.OffsetCommitRequest) error {
		for _, t := range req.Topics {
			for i := range t.Partitions {
				now := told[partition{t.Topic, t.Partitions[i].Partition}].now
				t.Partitions[i].Metadata = kmsg.StringPtr(fmt.Sprintf(toldText, now.Epoch, now.Sequence))
			}
		}
		return nil
	})
	w.client.CommitOffsetsSync(ctx, offsets, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		if err != nil {
			return // told again next time
		}
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				if to := told[partition{t.Topic, p.Partition}]; to.assignment != nil && p.ErrorCode == 0 {
					to.told = to.now
				}
			}
		}
	})
}
