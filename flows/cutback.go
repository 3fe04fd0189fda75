package flows

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/checkpoints"
)

// ErrNoEpochs: nobody can tell where a log was cut back.
var ErrNoEpochs = errors.New("the brokers keep no leader epochs of what was read, so nobody can tell where the log was cut back")

// DescribeCut asks the brokers where the log stops being the one that a
// document was read from: at its epoch is that of the record before. cut is
// false if all that the document counts as stored is still there.
func DescribeCut(ctx context.Context, options []kgo.Opt, l Log, doc *checkpoints.Document) (at checkpoints.Position, cut bool, err error) {
	client, err := kgo.NewClient(options...)
	if err != nil {
		return at, false, fmt.Errorf("kafka client: %w", err)
	}
	defer client.Close()
	return findCut(ctx, epochEnds(client, l.VChannel), l, doc)
}

// epochAnswer is where the log holds the end of what leaders wrote up to an
// epoch, and the last epoch of these that it has.
type epochAnswer func(ctx context.Context, epoch int32) (last int32, end int64, err error)

// findCut asks for the last epoch of which anything was read. Up to an epoch's
// end two logs that have it are the same; where the log of now does not have
// it, they part where the last one before ends, or where the log that was read
// went on to a later one.
func findCut(ctx context.Context, ask epochAnswer, l Log, doc *checkpoints.Document) (at checkpoints.Position, cut bool, err error) {
	read := int32(-1)
	for p := range doc.Positions {
		read = max(read, p.LeaderEpoch)
	}
	covered := doc.Covered().Offset
	if read < 0 {
		return at, covered > l.End, errIf(covered > l.End, ErrNoEpochs)
	}
	last, end, err := ask(ctx, read)
	switch {
	case errors.Is(err, errNoLineage):
		return at, covered > l.End, errIf(covered > l.End, ErrNoEpochs)
	case err != nil:
		return at, false, fmt.Errorf("leader epochs of the log: %w", err)
	}
	for p := range doc.Positions {
		if p.LeaderEpoch > last {
			end = min(end, p.Offset)
		}
	}
	return checkpoints.Position{Offset: end, LeaderEpoch: last}, end < covered, nil
}

func errIf(wrong bool, err error) error {
	if wrong {
		return err
	}
	return nil
}
