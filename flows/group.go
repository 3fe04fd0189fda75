package flows

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// tellEvery is how often Kafka's group is told the seek positions. It is a
// hint for people and lag tools, and never read as truth.
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

// tell commits what is new to the group. Worker.commits is held, so that
// nothing is told of a partition once release has returned.
func (w *Worker) tell(ctx context.Context, all []*assignment) {
	if len(w.cfg.Partitions) > 0 {
		return
	}
	offsets, told := map[string]map[int32]kgo.EpochOffset{}, map[partition]*assignment{}
	for _, a := range all {
		seek := a.seek.Load()
		w.mu.Lock()
		ours := w.parts[a.partition] == a
		w.mu.Unlock()
		if !ours || a.stopped.Load() || seek == nil || seek.Offset == a.told {
			continue
		}
		told[a.partition] = a
		if offsets[a.topic] == nil {
			offsets[a.topic] = map[int32]kgo.EpochOffset{}
		}
		offsets[a.topic][a.id] = kgo.EpochOffset{Epoch: seek.LeaderEpoch, Offset: seek.Offset}
	}
	if len(offsets) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tellEvery)
	defer cancel()
	w.client.CommitOffsetsSync(ctx, offsets, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		if err != nil {
			return // told again next time
		}
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				if a := told[partition{t.Topic, p.Partition}]; a != nil && p.ErrorCode == 0 {
					a.told = offsets[t.Topic][p.Partition].Offset
				}
			}
		}
	})
}
