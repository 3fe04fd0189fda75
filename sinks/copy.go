package sinks

import (
	"context"
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
	info, err := from.Stat(ctx, source)
	if err != nil {
		return 0, fmt.Errorf("stat %s: %w", source, err)
	}
	// Exactly the object that was seen.
	conditions := minio.CopySrcOptions{MatchETag: info.ETag}
	t := &task{op: "copy", key: key, refusals: b.cfg.ReadRefusals, waits: forever}
	return retry(ctx, b, t, func(ctx context.Context) (int64, error) {
		return info.Size, b.exchange(ctx, t, "copy", info.Size, func(ctx context.Context, _ *deadline) (int64, error) {
			conditions.Bucket, conditions.Object = from.cfg.Bucket, from.prefix+source
			_, err := b.client.CopyObject(ctx, conditions.Bucket, conditions.Object, b.cfg.Bucket, b.prefix+key, nil, conditions, minio.PutObjectOptions{})
			return info.Size, err
		})
	})
}
