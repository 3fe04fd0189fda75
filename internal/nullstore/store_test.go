package nullstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/rs/zerolog"

	"flowgraph/checkpoints"
	"flowgraph/internal/nullstore"
	"flowgraph/sinks"
)

func bucket(t *testing.T, s *nullstore.Store) *sinks.Bucket {
	t.Helper()
	cfg := sinks.Default()
	cfg.Endpoint, cfg.Bucket, cfg.Root, cfg.AccessKey, cfg.SecretKey = s.Endpoint(), "bucket", "files", "key", "secretsecret"
	b, err := sinks.NewBucket(cfg, zerolog.Nop(), sinks.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func put(ctx context.Context, b *sinks.Bucket, key, body string, c checkpoints.Condition) (checkpoints.Info, error) {
	return b.Put(ctx, key, checkpoints.Object{Parts: [][]byte{[]byte(body)}, Meta: checkpoints.Meta("v", 1)}, c)
}

func TestAStoreWithoutConditionsWouldNotBeMeasuredAsOne(t *testing.T) {
	s, err := nullstore.Start(false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b, ctx := bucket(t, s), t.Context()
	first, err := put(ctx, b, "checkpoints/a.json", "one", checkpoints.Condition{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := put(ctx, b, "checkpoints/a.json", "two", checkpoints.Condition{}); !errors.Is(err, checkpoints.ErrConflict) {
		t.Errorf("created twice: %v", err)
	}
	if _, err := put(ctx, b, "checkpoints/a.json", "two", checkpoints.Condition{ETag: first.ETag}); err != nil {
		t.Error(err)
	}
	if _, err := put(ctx, b, "checkpoints/a.json", "three", checkpoints.Condition{ETag: first.ETag}); !errors.Is(err, checkpoints.ErrConflict) {
		t.Errorf("replaced by a stale version: %v", err)
	}
	data, info, err := b.Get(ctx, "checkpoints/a.json")
	if err != nil || !bytes.Equal(data, []byte("two")) || info.ETag == first.ETag {
		t.Errorf("read %q, %+v: %v", data, info, err)
	}
	if c := s.Counts(); c.Documents != 2 || c.DocumentBytes != 6 || c.Stored != 6 || c.Puts != 4 || c.Lists != 0 {
		t.Errorf("counts %+v", c)
	}
}

func TestEveryPageOfAListingIsCounted(t *testing.T) {
	s, err := nullstore.Start(false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const n = 2500
	for i := range n {
		s.Set(fmt.Sprintf("bucket/files/segments/1/2/%06d.json", i), []byte("{}"))
	}
	s.Set("bucket/files/segmentt", nil)
	got := 0
	for info, err := range bucket(t, s).List(t.Context(), "segments/") {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("segments/1/2/%06d.json", got); info.Key != want {
			t.Fatalf("key %s, want %s", info.Key, want)
		}
		got++
	}
	if c := s.Counts(); got != n || c.Lists != 3 {
		t.Errorf("%d keys in %d pages", got, c.Lists)
	}
}
