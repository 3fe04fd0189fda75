package archive_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/devstack"
	"flowgraph/internal/membucket"
	"flowgraph/internal/testlog"
	"flowgraph/sinks"
)

// world is the one object store of this process and what was run into it.
type world struct {
	testdata string // absolute: the store moves the working directory
	store    *devstack.Store
	runs     map[string]*run
}

var shared *world

func TestMain(m *testing.M) { os.Exit(inWorld(m)) }

func inWorld(m *testing.M) int {
	testdata, err := filepath.Abs("../../testdata/recordings")
	if err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "archive")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	store, err := devstack.StartBucket(context.Background(), devstack.BucketConfig{Dir: dir})
	if err != nil {
		panic(err)
	}
	defer store.Close()
	shared = &world{testdata: testdata, store: store, runs: map[string]*run{}}
	for _, name := range recordings {
		shared.runs[name] = &run{name: name}
	}
	defer shared.close()
	return m.Run()
}

// close ends all clients, without which the store would wait for them.
func (w *world) close() {
	for _, r := range w.runs {
		if r.broker != nil {
			r.broker.Close()
			r.bucket.Close()
		}
	}
}

var recordings = []string{"all_types", "varchar_pk", "ddl", "upsert", "concurrent"}

// run is one recording, replayed and read to its end by a real worker.
type run struct {
	name   string
	once   sync.Once
	bucket *sinks.Bucket
	broker *devstack.Broker
}

// recorded runs a recording once for all tests.
func recorded(t *testing.T, name string) *run {
	t.Helper()
	r := shared.runs[name]
	r.once.Do(func() {
		r.bucket = newBucket(t, name)
		r.broker = testlog.Broker(t, r.path("records.jsonl.gz"))
		r.work(t)
	})
	if r.broker == nil {
		t.Fatalf("recording %s did not run", name)
	}
	return r
}

func (r *run) path(file string) string { return filepath.Join(shared.testdata, r.name, file) }

// work runs a worker to the logs' ends.
func (r *run) work(t *testing.T) {
	t.Helper()
	testlog.Read(t.Context(), t, r.broker, r.bucket)
}

// newBucket is a client of the store with a root of its own.
func newBucket(t *testing.T, root string) *sinks.Bucket {
	t.Helper()
	cfg, s3 := sinks.Default(), shared.store.Config()
	cfg.Endpoint, cfg.Bucket, cfg.Root = shared.store.Endpoint(), s3.Bucket, root
	cfg.AccessKey, cfg.SecretKey = s3.AccessKey, s3.SecretKey
	b, err := sinks.NewBucket(cfg, zerolog.Nop(), sinks.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// expected is what the recording must lead to.
func (r *run) expected(t *testing.T) *archive.Expected {
	t.Helper()
	want, err := archive.Expect(archive.Replayed(archive.Recorded(r.path("records.jsonl.gz"))))
	if err != nil {
		t.Fatal(err)
	}
	return want
}

// copyOf copies a bucket into memory, where a test may do what it wants.
func copyOf(t *testing.T, b checkpoints.Bucket) *membucket.Bucket {
	t.Helper()
	m := membucket.New()
	for _, prefix := range []string{"checkpoints/", "segments/", "ddl/", "insert_log/", "delta_log/", "stats_log/", "quarantine/"} {
		for info, err := range b.List(t.Context(), prefix) {
			if err != nil {
				t.Fatal(err)
			}
			put(t, m, info.Key, get(t, b, info.Key), metaOf(t, b, info.Key))
		}
	}
	return m
}

func get(t *testing.T, b checkpoints.Bucket, key string) []byte {
	t.Helper()
	data, _, err := b.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func metaOf(t *testing.T, b checkpoints.Bucket, key string) map[string]string {
	t.Helper()
	info, err := b.Stat(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return info.Meta
}

// put stores an object in place of whatever is there.
func put(t *testing.T, m *membucket.Bucket, key string, data []byte, meta map[string]string) {
	t.Helper()
	m.Remove(key)
	o := checkpoints.Object{Parts: [][]byte{data}, Meta: meta}
	if _, err := m.Put(t.Context(), key, o, checkpoints.Condition{}); err != nil {
		t.Fatal(err)
	}
}

func check(t *testing.T, b checkpoints.Bucket, want *archive.Expected, o archive.CheckOptions) *archive.Report {
	t.Helper()
	report, err := archive.Check(t.Context(), b, want, o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func open(t *testing.T, b checkpoints.Bucket) *archive.Archive {
	t.Helper()
	a, err := archive.Open(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// allSegments are the segments of an archive by ID.
func allSegments(t *testing.T, a *archive.Archive) map[int64]*archive.Segment {
	t.Helper()
	all := map[int64]*archive.Segment{}
	for s, err := range a.Segments(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if all[s.ID] != nil {
			t.Errorf("segment %d is listed twice", s.ID)
		}
		all[s.ID] = s
	}
	return all
}
