package sinks

import (
	"bytes"
	"context"
	"errors"

	"github.com/minio/minio-go/v7"

	"flowgraph/checkpoints"
)

// passingMax is how many bytes are on their way between two stores at a time.
const passingMax = 96 << 20

// CopyFrom stores an object of another bucket under a key of this one,
// whatever is there. Where both are of one store, the store copies; else the
// bytes pass through this process, whole objects of passingMax bytes in memory
// at a time. In both ways the copy
// is held against the source's checksum before it counts. It returns the
// object's size. from.Get's errors are returned.
func (b *Bucket) CopyFrom(ctx context.Context, from *Bucket, source, key string) (int64, error) {
	if b.cfg.Endpoint == from.cfg.Endpoint && b.cfg.AccessKey == from.cfg.AccessKey {
		return b.copyInside(ctx, from, source, key)
	}
	// The bodies in memory are bounded, however large and many they are; one
	// that is larger than all of that passes alone.
	info, err := from.Stat(ctx, source)
	if err != nil {
		return 0, err
	}
	weight := min(info.Size, passingMax)
	if err := b.passing.Acquire(ctx, weight); err != nil {
		return 0, context.Cause(ctx)
	}
	defer b.passing.Release(weight)
	data, _, err := from.Get(ctx, source)
	if err != nil {
		return 0, err
	}
	_, err = checkpoints.Replace(ctx, b, key, checkpoints.Object{Parts: [][]byte{data}})
	return int64(len(data)), err
}

func (b *Bucket) copyInside(ctx context.Context, from *Bucket, source, key string) (int64, error) {
	whole := &task{op: "stat", key: source, refusals: b.cfg.ReadRefusals, waits: forever}
	original, err := retry(ctx, from, whole, func(ctx context.Context) (stored, error) { return from.stat(ctx, whole) })
	if err != nil {
		return 0, err
	}
	// Exactly the object that was seen.
	conditions := minio.CopySrcOptions{MatchETag: original.ETag}
	t := &task{op: "copy", key: key, refusals: b.cfg.ReadRefusals, waits: forever}
	return retry(ctx, b, t, func(ctx context.Context) (int64, error) {
		err := b.exchange(ctx, t, "copy", original.Size, func(ctx context.Context, _ *deadline) (int64, error) {
			conditions.Bucket, conditions.Object = from.cfg.Bucket, from.prefix+source
			_, err := b.client.CopyObject(ctx, conditions.Bucket, conditions.Object, b.cfg.Bucket, b.prefix+key, nil, conditions, minio.PutObjectOptions{})
			return original.Size, err
		})
		if err != nil {
			return 0, err
		}
		return original.Size, b.confirmCopy(ctx, t, from, original)
	})
}

// confirmCopy holds what the store has made against the original: by checksum
// where both have one, by ETag, which is the same where both are of the same
// bytes and not encrypted, else byte for byte.
func (b *Bucket) confirmCopy(ctx context.Context, t *task, from *Bucket, original stored) error {
	made, err := b.stat(ctx, t)
	switch {
	case errors.Is(err, checkpoints.ErrNotExist):
		return &answer{code: "NotStored", status: 500, message: "the store said that it copied the object, but does not have it"}
	case err != nil:
		return err
	}
	wrong := &answer{code: "ChecksumMismatch", message: "the copy is not what " + original.Key + " is"}
	if made.Size != original.Size {
		return wrong
	}
	for kind, sum := range original.sums {
		if have := made.sums[kind]; wholeSum(sum) && wholeSum(have) {
			if have != sum {
				return wrong
			}
			return nil
		}
	}
	if made.ETag == original.ETag && made.ETag != "" {
		return nil
	}
	return b.compareBytes(ctx, t, from, original, wrong)
}

func (b *Bucket) compareBytes(ctx context.Context, t *task, from *Bucket, original stored, wrong error) error {
	source := &task{op: "get", key: original.Key}
	want, _, err := from.get(ctx, source)
	if err != nil {
		return err
	}
	have, _, err := b.get(ctx, t)
	if err == nil && !bytes.Equal(want, have) {
		err = wrong
	}
	return err
}
