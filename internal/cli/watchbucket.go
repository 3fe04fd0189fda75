package cli

import (
	"context"
	"iter"

	"flowgraph/checkpoints"
)

// watchedBucket tells how many objects were read and listed: how far a work
// is of which nobody knows how much there is.
type watchedBucket struct {
	checkpoints.Bucket
	seen func(objects int64)
}

// Get implements checkpoints.Bucket.
func (b watchedBucket) Get(ctx context.Context, key string) ([]byte, checkpoints.Info, error) {
	defer b.seen(1)
	return b.Bucket.Get(ctx, key)
}

// List implements checkpoints.Bucket.
func (b watchedBucket) List(ctx context.Context, prefix string) iter.Seq2[checkpoints.Info, error] {
	return func(yield func(checkpoints.Info, error) bool) {
		for info, err := range b.Bucket.List(ctx, prefix) {
			b.seen(1)
			if !yield(info, err) {
				return
			}
		}
	}
}
