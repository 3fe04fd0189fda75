package flows

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"flowgraph/checkpoints"
)

// Lineage asks where the log holds the end of what leaders wrote up to an
// epoch. Below that end a log that was never cut back is the same for ever.
type Lineage func(ctx context.Context, epoch int32) (end int64, err error)

// errNoLineage: the broker keeps no epochs, so it cannot tell.
var errNoLineage = errors.New("the broker keeps no leader epochs")

// sameLog compares a position with the log's own history. A log that lost its
// end to an unclean election, and has grown again since, has other records at
// offsets that count as persisted: these would be dropped unread.
func (f *Flow) sameLog(ctx context.Context, p checkpoints.Position) error {
	if f.Lineage == nil || p.LeaderEpoch < 0 {
		return nil
	}
	end, err := f.Lineage(ctx, p.LeaderEpoch)
	switch {
	case errors.Is(err, errNoLineage):
		return nil
	case err != nil:
		return fmt.Errorf("leader epochs of the log: %w", err)
	case end < p.Offset:
		return fmt.Errorf("%w: %s was read up to offset %d of leader epoch %d, which ends at %d",
			ErrCutBack, f.VChannel.Name(), p.Offset, p.LeaderEpoch, end)
	}
	return nil
}

// furthest is the last position of a document about which the log can be
// asked. What is stored of quiet segments may be far ahead of the seek
// position.
func furthest(doc *checkpoints.Document) checkpoints.Position {
	if p := doc.Covered(); p.LeaderEpoch >= 0 {
		return p
	}
	return doc.Seek
}

// succession compares again when records of a later leader come, before any
// is taken: the log may have been cut back, and have grown, while the flow
// reads it. The client compares only what it happens to remember.
func (f *Flow) succession(stored checkpoints.Position) func(ctx context.Context, at checkpoints.Position, epoch int32) error {
	return func(ctx context.Context, at checkpoints.Position, epoch int32) error {
		if epoch <= at.LeaderEpoch {
			return nil
		}
		if err := f.sameLog(ctx, at); err != nil {
			return err
		}
		return f.sameLog(ctx, stored) // further on, while the log is read again
	}
}

// lineage asks the partition's leader.
func lineage(client *kgo.Client, v checkpoints.VChannel) Lineage {
	ask := epochEnds(client, v)
	return func(ctx context.Context, epoch int32) (int64, error) {
		_, end, err := ask(ctx, epoch)
		return end, err
	}
}

func epochEnds(client *kgo.Client, v checkpoints.VChannel) epochAnswer {
	return func(ctx context.Context, epoch int32) (int32, int64, error) {
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.Partition, p.LeaderEpoch = v.Partition, epoch
		t := kmsg.NewOffsetForLeaderEpochRequestTopic()
		t.Topic, t.Partitions = v.Topic, append(t.Partitions, p)
		req := kmsg.NewPtrOffsetForLeaderEpochRequest()
		req.ReplicaID, req.Topics = -1, append(req.Topics, t) // a consumer
		resp, err := req.RequestWith(ctx, client)
		if err != nil {
			if tooOld(ctx, client) {
				err = errNoLineage
			}
			return 0, 0, err
		}
		for _, t := range resp.Topics {
			if len(t.Partitions) > 0 {
				return epochEnd(t.Partitions[0], epoch)
			}
		}
		return 0, 0, fmt.Errorf("the broker does not list partition %d", v.Partition)
	}
}

// tooOld says whether the brokers do not know the question. The client's own
// error for that has no name.
func tooOld(ctx context.Context, client *kgo.Client) bool {
	resp, err := kmsg.NewPtrApiVersionsRequest().RequestWith(ctx, client)
	return err == nil && resp.ErrorCode == 0 && !slices.ContainsFunc(resp.ApiKeys, func(k kmsg.ApiVersionsResponseApiKey) bool {
		return k.ApiKey == int16(kmsg.OffsetForLeaderEpoch)
	})
}

func epochEnd(p kmsg.OffsetForLeaderEpochResponseTopicPartition, asked int32) (last int32, end int64, err error) {
	if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
		return 0, 0, err
	}
	if p.EndOffset < 0 || p.LeaderEpoch > asked { // it does not know of any so old
		return 0, 0, errNoLineage
	}
	return p.LeaderEpoch, p.EndOffset, nil
}
