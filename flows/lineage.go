package flows

import (
	"context"
	"errors"
	"fmt"

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

// sameLog compares the position with the log's own history. A log that lost
// its end to an unclean election, and has grown again since, has other records
// at offsets that count as persisted: these would be dropped unread.
func (f *Flow) sameLog(ctx context.Context, doc *checkpoints.Document) error {
	seek := doc.Seek
	if f.Lineage == nil || seek.LeaderEpoch < 0 {
		return nil
	}
	end, err := f.Lineage(ctx, seek.LeaderEpoch)
	switch {
	case errors.Is(err, errNoLineage):
		return nil
	case err != nil:
		return fmt.Errorf("%w: leader epochs of the log: %w", errClaim, err)
	case end < seek.Offset:
		return fmt.Errorf("%w: %s was stored up to offset %d of leader epoch %d, which ends at %d: the log was cut back and holds other records since",
			ErrDataLoss, f.VChannel.Name(), seek.Offset, seek.LeaderEpoch, end)
	}
	return nil
}

// lineage asks the partition's leader.
func lineage(client *kgo.Client, v checkpoints.VChannel) Lineage {
	return func(ctx context.Context, epoch int32) (int64, error) {
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.Partition, p.LeaderEpoch = v.Partition, epoch
		t := kmsg.NewOffsetForLeaderEpochRequestTopic()
		t.Topic, t.Partitions = v.Topic, append(t.Partitions, p)
		req := kmsg.NewPtrOffsetForLeaderEpochRequest()
		req.ReplicaID, req.Topics = -1, append(req.Topics, t) // a consumer
		resp, err := req.RequestWith(ctx, client)
		if err != nil {
			if errors.Is(err, kerr.UnsupportedVersion) {
				err = errNoLineage
			}
			return 0, err
		}
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return 0, err
				}
				if p.EndOffset < 0 || p.LeaderEpoch > epoch { // it does not know of any so old
					return 0, errNoLineage
				}
				return p.EndOffset, nil
			}
		}
		return 0, fmt.Errorf("the broker does not list partition %d", v.Partition)
	}
}
