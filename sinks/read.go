package sinks

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/minio/minio-go/v7"

	"flowgraph/checkpoints"
)

// stored is what the store tells of an object: for callers, and for telling
// our bytes from others'.
type stored struct {
	checkpoints.Info
	sums map[Checksum]string // as the store writes them, base64
}

// Get reads a whole object. Bytes that do not fit the stored checksum are read
// again, and refused in the end.
func (b *Bucket) Get(ctx context.Context, key string) ([]byte, checkpoints.Info, error) {
	var data []byte
	t := &task{op: "get", key: key, refusals: b.cfg.ReadRefusals, waits: forever}
	s, err := retry(ctx, b, t, func(ctx context.Context) (s stored, err error) {
		data, s, err = b.get(ctx, t)
		return s, err
	})
	if err != nil {
		return nil, checkpoints.Info{}, err
	}
	return data, s.Info, nil
}

// Stat is Get without the bytes.
func (b *Bucket) Stat(ctx context.Context, key string) (checkpoints.Info, error) {
	t := &task{op: "stat", key: key, refusals: b.cfg.ReadRefusals, waits: forever}
	s, err := retry(ctx, b, t, func(ctx context.Context) (stored, error) { return b.stat(ctx, t) })
	return s.Info, err
}

func (b *Bucket) get(ctx context.Context, t *task) (data []byte, s stored, err error) {
	err = b.exchange(ctx, t, "get", 0, func(ctx context.Context, d *deadline) (int64, error) {
		var opts minio.GetObjectOptions
		opts.Set("x-amz-checksum-mode", "ENABLED")
		r, info, _, err := b.client.GetObject(ctx, b.cfg.Bucket, b.prefix+t.key, opts)
		if err != nil {
			return 0, err
		}
		defer r.Close()
		d.grow(info.Size)
		s = b.stored(t.key, info)
		data, err = readBody(r, info.Size)
		return int64(len(data)), err
	})
	if err != nil {
		return nil, stored{}, err
	}
	if sum := s.sums[CRC32C]; wholeSum(sum) && sum != crcText(crcOf([][]byte{data})) {
		return nil, stored{}, &answer{code: "ChecksumMismatch", message: "the bytes read do not fit the stored crc32c " + sum}
	}
	return data, s, nil
}

// mostObject is as large as an object of ours may be: the format ends at
// 2 GiB, documents are far smaller. What a reply says of its size is not
// believed beyond that.
const mostObject = 2<<30 + 1<<20

// readBody reads size bytes, or all there are if the store does not say.
func readBody(r io.Reader, size int64) ([]byte, error) {
	if size > mostObject {
		return nil, tooLarge(size)
	}
	if size < 0 {
		data, err := io.ReadAll(io.LimitReader(r, mostObject+1))
		if len(data) > mostObject {
			return nil, tooLarge(int64(len(data)))
		}
		return data, err
	}
	data := make([]byte, size)
	n, err := io.ReadFull(r, data)
	if err != nil {
		return nil, fmt.Errorf("the reply ended after %d of %d bytes: %w", n, size, err)
	}
	return data, nil
}

func tooLarge(size int64) error {
	return &answer{code: "ObjectTooLarge", message: fmt.Sprintf("%d bytes or more; no object of this program is larger than %d", size, mostObject)}
}

func (b *Bucket) stat(ctx context.Context, t *task) (s stored, err error) {
	err = b.exchange(ctx, t, "stat", 0, func(ctx context.Context, _ *deadline) (int64, error) {
		info, err := b.client.StatObject(ctx, b.cfg.Bucket, b.prefix+t.key, minio.StatObjectOptions{Checksum: true})
		if err == nil {
			s = b.stored(t.key, info)
		}
		return 0, err
	})
	if errors.Is(err, checkpoints.ErrNotExist) {
		return stored{}, b.bucketExists(ctx, t, err)
	}
	return s, err
}

// bucketExists makes sure that absent means absent: the reply to HEAD has no
// body, so a missing bucket looks like a missing object.
func (b *Bucket) bucketExists(ctx context.Context, t *task, absent error) error {
	return b.exchange(ctx, t, "stat", 0, func(ctx context.Context, _ *deadline) (int64, error) {
		ok, err := b.client.BucketExists(ctx, b.cfg.Bucket)
		switch {
		case err != nil:
			return 0, err
		case !ok:
			return 0, minio.ErrorResponse{Code: minio.NoSuchBucket, StatusCode: 404, Message: "the bucket " + b.cfg.Bucket + " does not exist"}
		}
		return 0, absent
	})
}

func (b *Bucket) stored(key string, o minio.ObjectInfo) stored {
	return stored{
		Info: checkpoints.Info{Key: key, ETag: o.ETag, Size: o.Size, Modified: o.LastModified, Meta: lowerKeys(o.UserMetadata)},
		sums: map[Checksum]string{CRC32C: o.ChecksumCRC32C, SHA256: o.ChecksumSHA256},
	}
}
