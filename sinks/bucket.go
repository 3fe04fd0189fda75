// Package sinks writes to the object store: the one adapter of
// checkpoints.Bucket, with the one retry loop, and the binlog sink on it.
package sinks

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"

	"flowgraph/checkpoints"
)

// Bucket is checkpoints.Bucket on an S3-compatible store. It may be used by
// any number of goroutines; it has none of its own.
type Bucket struct {
	cfg    BucketConfig
	prefix string
	name   string // endpoint and bucket, for people
	client minio.Core
	creds  *credentials.Credentials
	chain  *chain // that they come from, nil if they were given
	close  func() // of idle connections
	log    zerolog.Logger
	hooks  Hooks
	waits  *waits
	dated  *atomic.Pointer[dating] // the store's last answer
	// passing bounds the bytes of objects on their way from another store.
	passing *semaphore.Weighted
}

var _ checkpoints.Bucket = (*Bucket)(nil)

// Hooks tell the outside what happens at the store. Any may be nil; they are
// called from many goroutines, and must not block or call the bucket.
type Hooks struct {
	// Request is called after every request: which of Operations it was, the
	// object bytes sent or received, how long it took, and what came of it.
	Request func(op string, bytes int64, took time.Duration, o Outcome)
	// Retry is called before each pause of a call (one of Operations) that
	// will be tried again.
	Retry func(op string, why Outcome)
	// Waiting is called when calls begin or cease to wait for the store.
	Waiting func(Waiting)
}

// NewBucket makes the adapter; nothing is sent yet (see Probe).
func NewBucket(cfg BucketConfig, log zerolog.Logger, hooks Hooks) (*Bucket, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("object store: %w", err)
	}
	host, secure, err := cfg.host()
	if err != nil {
		return nil, err
	}
	t, err := newTransport(cfg, log)
	if err != nil {
		return nil, fmt.Errorf("object store: %w", err)
	}
	creds, chain := newCredentials(cfg)
	last := new(atomic.Pointer[dating])
	lookup := map[string]minio.BucketLookupType{"auto": minio.BucketLookupAuto, "path": minio.BucketLookupPath, "virtual-host": minio.BucketLookupDNS}
	// The library's own retries are off: it would repeat inside what the one
	// loop here repeats outside. Its trailing checksums are off too: they cost
	// a chunked body, and many stores do not know them.
	core, err := minio.NewCore(host, &minio.Options{
		Creds: creds, Secure: secure, Transport: &exchanger{&dated{t, last}}, Region: cfg.Region,
		BucketLookup: lookup[cfg.Addressing], MaxRetries: 1,
	})
	if err != nil {
		return nil, fmt.Errorf("object store %s: %w", cfg.Endpoint, err)
	}
	name := strings.TrimSuffix(cfg.Endpoint, "/") + "/" + cfg.Bucket
	return &Bucket{
		passing: semaphore.NewWeighted(passingMax), cfg: cfg, prefix: cfg.prefix(), name: name, client: *core, creds: creds, chain: chain, dated: last,
		close: t.CloseIdleConnections, log: log.With().Str("store", name).Logger(), hooks: hooks,
		waits: &waits{store: name, calls: map[*waiter]struct{}{}},
	}, nil
}

// Close closes idle connections. Calls still running are ended by their own
// contexts.
func (b *Bucket) Close() { b.close() }

// Name is the endpoint and the bucket, for people.
func (b *Bucket) Name() string { return b.name }

// Home is host, bucket and root: where everything lies, told apart from where
// a copy of it lies. Two names of one host are two homes.
func (b *Bucket) Home() string {
	host, _, _ := b.cfg.host() // NewBucket has seen that it is one
	return strings.TrimSuffix(host+"/"+b.cfg.Bucket+"/"+b.prefix, "/")
}

// Waiting tells whether calls wait for the store, since when and why.
func (b *Bucket) Waiting() Waiting { return b.waits.state() }

// Remove deletes an object; an absent one is a success. It is not part of
// checkpoints.Bucket: only the collection of unreferenced files may remove.
func (b *Bucket) Remove(ctx context.Context, key string) error {
	t := &task{op: "remove", key: key, refusals: b.cfg.ReadRefusals, waits: forever}
	_, err := retry(ctx, b, t, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, b.remove(ctx, t)
	})
	return err
}

func (b *Bucket) remove(ctx context.Context, t *task) error {
	return b.exchange(ctx, t, "remove", 0, func(ctx context.Context, _ *deadline) (int64, error) {
		return 0, b.client.RemoveObject(ctx, b.cfg.Bucket, b.prefix+t.key, minio.RemoveObjectOptions{})
	})
}
