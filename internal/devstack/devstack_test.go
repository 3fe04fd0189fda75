package devstack_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/internal/devstack"
)

func TestRestartedBrokerKeepsRecords(t *testing.T) {
	dir := t.TempDir()
	b := startBroker(t, devstack.BrokerConfig{Dir: dir, Listen: "127.0.0.1:0"})
	addr := b.Addr()
	c := newClient(t, addr, kgo.AllowAutoTopicCreation(), kgo.ProducerBatchMaxBytes(16<<20), kgo.MaxBufferedBytes(64<<20))
	large := bytes.Repeat([]byte("x"), 12<<20)
	for i, value := range [][]byte{[]byte("one"), large} {
		r := &kgo.Record{Topic: "rows", Value: value}
		if err := c.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatalf("record %d of %d bytes: %v", i, len(value), err)
		}
	}
	c.Close()
	b.Close()

	b = startBroker(t, devstack.BrokerConfig{Dir: dir, Listen: addr})
	if b.Addr() != addr {
		t.Fatalf("listens on %s, asked for %s", b.Addr(), addr)
	}
	c = newClient(t, addr, kgo.ConsumeTopics("rows"), kgo.FetchMaxBytes(32<<20), kgo.FetchMaxPartitionBytes(32<<20))
	var sizes []int
	for len(sizes) < 2 {
		f := c.PollFetches(t.Context())
		if err := f.Err(); err != nil {
			t.Fatal(err)
		}
		f.EachRecord(func(r *kgo.Record) { sizes = append(sizes, len(r.Value)) })
	}
	if got := fmt.Sprint(sizes); got != fmt.Sprint([]int{3, 12 << 20}) {
		t.Fatalf("values of %s bytes after the restart", got)
	}
}

func TestGroupWithShortSessionIsAccepted(t *testing.T) {
	b := startBroker(t, devstack.BrokerConfig{})
	c := newClient(t, b.Addr(), kgo.AllowAutoTopicCreation(), kgo.ConsumeTopics("rows"), kgo.ConsumerGroup("g"),
		kgo.SessionTimeout(500*time.Millisecond), kgo.HeartbeatInterval(100*time.Millisecond), kgo.MetadataMinAge(100*time.Millisecond),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err := c.ProduceSync(t.Context(), &kgo.Record{Topic: "rows", Value: []byte("one")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	f := c.PollFetches(t.Context())
	if err := f.Err(); err != nil || f.NumRecords() != 1 {
		t.Fatalf("%d records, error %v", f.NumRecords(), err)
	}
}

func TestRestartedStoreKeepsObjectsAsPlainFiles(t *testing.T) {
	for _, sidecar := range []bool{false, true} {
		t.Run(fmt.Sprintf("sidecar=%v", sidecar), func(t *testing.T) { restartStore(t, sidecar) })
	}
}

func restartStore(t *testing.T, sidecar bool) {
	dir := filepath.Join(t.TempDir(), "objects")
	s := startBucket(t, devstack.BucketConfig{Dir: dir, Listen: "127.0.0.1:0", Sidecar: sidecar})
	addr := s.Addr()
	c := s3(t, s)
	body := []byte("some bytes")
	const key = "files/insert_log/1/2/3"
	_, err := c.PutObject(t.Context(), "a-bucket", key, bytes.NewReader(body), int64(len(body)), minio.PutObjectOptions{UserMetadata: map[string]string{"epoch": "7"}})
	if err != nil {
		t.Fatal(err)
	}
	// Milvus copies objects inside the store when it imports.
	_, err = c.CopyObject(t.Context(), minio.CopyDestOptions{Bucket: "a-bucket", Object: "copy"}, minio.CopySrcOptions{Bucket: "a-bucket", Object: key})
	if err != nil {
		t.Fatalf("copy: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, "a-bucket", key))
	if err != nil || !bytes.Equal(file, body) {
		t.Fatalf("file %q, %v", file, err)
	}

	s = startBucket(t, devstack.BucketConfig{Dir: dir, Listen: addr, Sidecar: sidecar})
	o, err := s3(t, s).GetObject(t.Context(), "a-bucket", key, minio.GetObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	info, err := o.Stat()
	if err != nil || info.UserMetadata["Epoch"] != "7" {
		t.Fatalf("metadata %v, %v", info.UserMetadata, err)
	}
	got, err := io.ReadAll(o)
	if err != nil || !bytes.Equal(got, body) {
		t.Fatalf("read %q, %v", got, err)
	}
}

func TestSecondStoreInOneProcessIsAnErrorNotAHang(t *testing.T) {
	startBucket(t, devstack.BucketConfig{Dir: t.TempDir()})
	_, err := devstack.StartBucket(t.Context(), devstack.BucketConfig{Dir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "already running") {
		t.Fatalf("got %v", err)
	}
}

func TestStoreEndsWithItsContext(t *testing.T) {
	before, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s, err := devstack.StartBucket(ctx, devstack.BucketConfig{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Getwd(); err != nil || after != before {
		t.Errorf("working directory %s, was %s (%v)", after, before, err)
	}
	// Its address is free again.
	startBucket(t, devstack.BucketConfig{Dir: t.TempDir(), Listen: s.Addr()})
}

func startBroker(t *testing.T, cfg devstack.BrokerConfig) *devstack.Broker {
	t.Helper()
	b, err := devstack.StartBroker(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func startBucket(t *testing.T, cfg devstack.BucketConfig) *devstack.Store {
	t.Helper()
	s, err := devstack.StartBucket(context.WithoutCancel(t.Context()), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func newClient(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append(opts, kgo.SeedBrokers(addr))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func s3(t *testing.T, s *devstack.Store) *minio.Client {
	t.Helper()
	cfg := s.Config()
	c, err := minio.New(s.Addr(), &minio.Options{Creds: credentials.NewStaticV4(cfg.AccessKey, cfg.SecretKey, ""), Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
