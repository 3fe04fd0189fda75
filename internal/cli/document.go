package cli

import (
	"context"
	"errors"
	"fmt"

	"flowgraph/checkpoints"
)

// errNothingChanged ends a command that shows what it would do. It is an
// error, so that a script does not go on as if it were done.
var errNothingChanged = errors.New("nothing was changed: add --yes to do it")

// fencesText warns of what a claim does to a worker.
const fencesText = "A worker that runs now loses the vchannel: nothing more of it is written. In a group it claims it again by itself and\n" +
	"goes on from there; one with an explicit list of partitions ends with exit code 3.\n"

func loadDocument(ctx context.Context, b checkpoints.Bucket, vchannel string) (*checkpoints.Document, error) {
	doc, _, err := checkpoints.Load(ctx, b, vchannel)
	if errors.Is(err, checkpoints.ErrNotExist) {
		return nil, fmt.Errorf("there is no vchannel %s in the bucket (flowgraph inspect lists them): %w", vchannel, err)
	}
	return doc, err
}

func positionsText(d *checkpoints.Document) string {
	return fmt.Sprintf("epoch %d, read from %d, seek position %d", d.Epoch, d.ReadFrom.Offset, d.Seek.Offset)
}
