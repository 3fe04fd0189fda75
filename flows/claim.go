package flows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"flowgraph/checkpoints"
)

// Told asks for what the worker's group was last told of a partition's
// document.
type Told func(ctx context.Context) (checkpoints.Told, error)

// claim makes this flow the vchannel's owner, once a turn is free.
func (f *Flow) claim(ctx context.Context, start int64) (*checkpoints.Store, *checkpoints.Document, error) {
	signs := checkpoints.Signs{Home: f.Home}
	if f.Surveys != nil {
		asking := f.Surveys.Ask()
		defer asking.Done()
		signs.Survey = func(ctx context.Context, reason string) (*checkpoints.Survey, error) {
			began := time.Now()
			survey, err := asking.Survey(ctx)
			f.Log.Info().Str("vchannel", f.VChannel.Name()).Str("reason", reason).Dur("took", time.Since(began)).
				Msg("the document may be older than the bucket around it: compared")
			return survey, err
		}
	}
	select {
	case f.Claims <- struct{}{}:
		defer func() { <-f.Claims }()
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	if f.Told != nil {
		var err error
		if signs.Told, err = f.Told(ctx); err != nil {
			return nil, nil, fmt.Errorf("%w: offset of the group: %w", errClaim, err)
		}
	}
	store, doc, err := checkpoints.ClaimBy(ctx, f.Sink.Bucket, f.VChannel, start, signs)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errClaim, err)
	}
	return store, doc, nil
}

// told asks the group for one partition: there may be a thousand, and each
// flow asks. What it says is a sign and never a position.
func (w *Worker) told(v checkpoints.VChannel) Told {
	if w.cfg.Group == "" || len(w.cfg.Partitions) > 0 {
		return nil
	}
	return func(ctx context.Context) (checkpoints.Told, error) { return groupOffset(ctx, w.client, w.cfg.Group, v) }
}

func groupOffset(ctx context.Context, client *kgo.Client, group string, v checkpoints.VChannel) (told checkpoints.Told, err error) {
	t := kmsg.NewOffsetFetchRequestTopic()
	t.Topic, t.Partitions = v.Topic, []int32{v.Partition}
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group, req.Topics = group, append(req.Topics, t)
	req.RequireStable = true
	resp, err := req.RequestWith(ctx, client)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if errors.Is(err, kerr.GroupAuthorizationFailed) || errors.Is(err, kerr.GroupIDNotFound) {
		return told, nil // no sign
	}
	if err != nil {
		return told, err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if p.Partition == v.Partition && p.ErrorCode == 0 {
				return toldFrom(p.Offset, p.Metadata), nil
			}
		}
	}
	return told, nil
}

// toldText goes with a group's offset; another program's has other words.
const toldText = "flowgraph epoch %d, sequence %d"

func toldFrom(offset int64, words *string) checkpoints.Told {
	told := checkpoints.Told{Seek: checkpoints.Position{Offset: max(0, offset)}}
	if words == nil {
		return told
	}
	if n, err := fmt.Sscanf(*words, toldText, &told.Epoch, &told.Sequence); n != 2 || err != nil || told.Epoch >= checkpoints.MaxEpoch {
		told.Epoch, told.Sequence = 0, 0
	}
	return told
}
