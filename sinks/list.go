package sinks

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/minio/minio-go/v7"

	"flowgraph/checkpoints"
)

// pageSize is how many keys a store gives at once at most.
const pageSize = 1000

// List yields every object whose key begins with prefix, in key order, however
// many pages that takes. A listing that repeats or loses its place is an error,
// never a short list.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[checkpoints.Info, error] {
	return func(yield func(checkpoints.Info, error) bool) {
		after := ""
		for {
			t := &task{op: "list", key: prefix, refusals: b.cfg.ReadRefusals, waits: forever}
			page, err := retry(ctx, b, t, func(ctx context.Context) ([]checkpoints.Info, error) {
				return b.page(ctx, t, prefix, after)
			})
			if err != nil {
				yield(checkpoints.Info{}, err)
				return
			}
			for _, info := range page {
				if !yield(info, nil) {
					return
				}
			}
			if len(page) < pageSize {
				return
			}
			after = page[len(page)-1].Key
		}
	}
}

// page reads the keys behind after: pageSize of them, or all there are. A page
// that fails is read again as a whole, so nothing is yielded twice.
func (b *Bucket) page(ctx context.Context, t *task, prefix, after string) (page []checkpoints.Info, err error) {
	noOwner := false
	opts := minio.ListObjectsOptions{Prefix: b.prefix + prefix, Recursive: true, MaxKeys: pageSize, FetchOwner: &noOwner}
	if after != "" {
		opts.StartAfter = b.prefix + after
	}
	err = b.exchange(ctx, t, "list", 0, func(ctx context.Context, _ *deadline) (int64, error) {
		page = page[:0]
		last := after
		for o := range b.client.ListObjectsIter(context.WithValue(ctx, listingKey{}, &listing{}), b.cfg.Bucket, opts) {
			if o.Err != nil {
				return 0, o.Err
			}
			key, ours := strings.CutPrefix(o.Key, b.prefix)
			if !ours || !strings.HasPrefix(key, prefix) {
				return 0, &answer{code: "BadListing", message: fmt.Sprintf("the store lists %q under the prefix %q", o.Key, opts.Prefix)}
			}
			// Keys that do not rise mean that the store lost its place: going
			// on could leave some out, or never end.
			if key <= last {
				return 0, &answer{code: "BadListing", message: fmt.Sprintf("the store lists %q after %q", key, last)}
			}
			last = key
			page = append(page, checkpoints.Info{Key: key, ETag: o.ETag, Size: o.Size, Modified: o.LastModified})
			if len(page) == pageSize {
				break
			}
		}
		return 0, ctx.Err() // an ended context ends the listing without a word
	})
	return page, err
}
