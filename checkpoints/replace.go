package checkpoints

import (
	"context"
	"errors"
)

// Replace stores an object whatever is under its key, for keys that only one
// process writes.
func Replace(ctx context.Context, b Bucket, key string, o Object) (Info, error) {
	info, err := b.Put(ctx, key, o, Condition{Refusals: 10})
	if !errors.Is(err, ErrConflict) {
		return info, err
	}
	old, err := b.Stat(ctx, key)
	if err != nil {
		return Info{}, err
	}
	return b.Put(ctx, key, o, Condition{ETag: old.ETag, Refusals: 10})
}
