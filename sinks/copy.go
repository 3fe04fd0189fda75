package sinks

import (
	"context"
	"errors"
	"fmt"

	"github.com/minio/minio-go/v7"

	"flowgraph/checkpoints"
)

// CopyFrom stores an object of another bucket under a key of this one,
// whatever is there. Where both are of one store, the store copies; else the
// bytes pass through this process, one object in memory, confirmed by their
// checksum. It returns the object's size. from.Get's errors are returned.
func (b *Bucket) CopyFrom(ctx context.Context, from *Bucket, source, key string) (int64, error) {
	if b.cfg.Endpoint == from.cfg.Endpoint && b.cfg.AccessKey == from.cfg.AccessKey {
		return b.copyInside(ctx, from, source, key)
	}
	data, _, err := from.Get(ctx, source)
	if err != nil {
		return 0, fmt.Errorf("get %s: %w", source, err)
	}
	_, err = checkpoints.Replace(ctx, b, key, checkpoints.Object{Parts: [][]byte{data}})
	return int64(len(data)), err
}

func (b *Bucket) copyInside(ctx context.Context, from *Bucket, source, key string) (int64, error) {
	st := &task{op: "stat", key: source, refusals: from.cfg.ReadRefusals, waits: forever}
	seen, err := retry(ctx, from, st, func(ctx context.Context) (stored, error) { return from.stat(ctx, st) })
	if err != nil {
		return 0, err
	}
	// Exactly the object that was seen.
	conditions := minio.CopySrcOptions{MatchETag: seen.ETag}
	t := &task{op: "copy", key: key, refusals: b.cfg.ReadRefusals, waits: forever}
	return retry(ctx, b, t, func(ctx context.Context) (int64, error) {
		err := b.exchange(ctx, t, "copy", seen.Size, func(ctx context.Context, _ *deadline) (int64, error) {
			conditions.Bucket, conditions.Object = from.cfg.Bucket, from.prefix+source
			_, err := b.client.CopyObject(ctx, conditions.Bucket, conditions.Object, b.cfg.Bucket, b.prefix+key, nil, conditions, minio.PutObjectOptions{})
			return seen.Size, err
		})
		if err != nil {
			return 0, err
		}
		return seen.Size, b.copied(ctx, t, seen)
	})
}

// copied makes sure that a copy is where the store said that it put it.
func (b *Bucket) copied(ctx context.Context, t *task, seen stored) error {
	s, err := b.stat(ctx, t)
	switch {
	case errors.Is(err, checkpoints.ErrNotExist):
		return &answer{code: "NotStored", status: 500, message: "the store said that it copied the object, but does not have it"}
	case err != nil:
		return err
	}
	// A store may keep a checksum of another kind with the copy, or none.
	want, got := seen.sums[CRC32C], s.sums[CRC32C]
	if s.Size != seen.Size || wholeSum(want) && wholeSum(got) && want != got {
		return &answer{code: "NotCopied", status: 500, message: fmt.Sprintf("the store said that it copied the object, but has another one there: %d bytes, not %d", s.Size, seen.Size)}
	}
	return nil
}
