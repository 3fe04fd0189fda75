package badstore_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/flows"
	"flowgraph/internal/archive"
	"flowgraph/internal/badstore"
	"flowgraph/internal/devstack"
	"flowgraph/internal/recording"
	"flowgraph/internal/traffic"
	"flowgraph/sinks"
)

var (
	seed    = flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the faults, the traffic and the moments of the deaths")
	records = flag.Int64("records", 900, "that are written while the store misbehaves")
)

const (
	topic, partitions = "traffic", 3
	access            = "minioadmin"
)

// world is a broker, a store and the front before it.
type world struct {
	t      *testing.T
	rng    *rand.Rand
	broker *devstack.Broker
	front  *badstore.Front
	keys   string // file with the keys that are valid now
	bad    sinks.BucketConfig
	good   sinks.BucketConfig // past the front
	log    lines
}

// lines keeps what workers log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Logf("repeat with: go test ./internal/badstore -run '^%s$' -records %d -seed %d", t.Name(), *records, *seed)
	dir := t.TempDir()
	w := &world{t: t, rng: rand.New(rand.NewPCG(*seed, 1)), keys: filepath.Join(dir, "keys")}
	var err error
	if w.broker, err = devstack.StartBroker(devstack.BrokerConfig{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.broker.Close)
	store, err := devstack.StartBucket(context.WithoutCancel(t.Context()), devstack.BucketConfig{Dir: filepath.Join(dir, "objects")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	u, err := url.Parse(store.Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	w.front = badstore.New(badstore.Config{Store: u, Seed: *seed, Share: 0.25})
	server := httptest.NewServer(w.front)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		w.front.Close()
	})
	w.configure(store, server.URL)
	t.Cleanup(func() {
		if text := w.log.String(); t.Failed() {
			t.Log(text[max(0, len(text)-5000):])
		}
	})
	return w
}

// configure gives the workers keys from a file and little patience.
func (w *world) configure(store *devstack.Store, front string) {
	for _, v := range []string{"AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY", "MINIO_ROOT_USER", "MINIO_ACCESS_KEY", "AWS_PROFILE"} {
		w.t.Setenv(v, "")
	}
	w.t.Setenv("AWS_SHARED_CREDENTIALS_FILE", w.keys)
	w.renew(access)
	w.good = sinks.Default()
	w.good.Endpoint, w.good.Bucket, w.good.Region = store.Endpoint(), store.Config().Bucket, "us-east-1"
	w.bad = w.good
	w.good.AccessKey, w.good.SecretKey = store.Config().AccessKey, store.Config().SecretKey
	w.bad.Endpoint = front
	w.bad.Checksum = []sinks.Checksum{sinks.CRC32C, sinks.MD5, sinks.SHA256, sinks.None}[w.rng.IntN(4)]
	w.bad.BackoffFirst, w.bad.BackoffWait, w.bad.BackoffRefusal = time.Millisecond, 50*time.Millisecond, 20*time.Millisecond
	w.bad.AttemptTimeout, w.bad.ReadRefusals = 500*time.Millisecond, 10
}

// renew replaces the keys.
func (w *world) renew(access string) {
	text := fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = minioadmin\n", access)
	if err := os.WriteFile(w.keys+".new", []byte(text), 0o600); err != nil {
		w.t.Error(err)
	}
	if err := os.Rename(w.keys+".new", w.keys); err != nil {
		w.t.Error(err)
	}
}

// expire lets the keys of the worker that runs expire. What lies in their place
// is not valid either; what is valid comes a while later.
func (w *world) expire() (wait func()) {
	var done sync.WaitGroup
	done.Go(func() {
		for _, step := range []func(){
			func() { w.renew("gone"); w.front.Expire(true) },
			func() { w.front.Expire(false) },
			func() { w.renew(access) },
		} {
			timer := time.NewTimer(300 * time.Millisecond)
			<-timer.C
			step()
		}
	})
	return done.Wait
}

func (w *world) bucket(cfg sinks.BucketConfig) *sinks.Bucket {
	w.t.Helper()
	b, err := sinks.NewBucket(cfg, zerolog.Nop(), sinks.Hooks{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(b.Close)
	return b
}

// run is one life of a worker: it ends by itself with toEnd, else it is killed.
func (w *world) run(life time.Duration, toEnd bool) {
	w.t.Helper()
	cfg := flows.DefaultConfig()
	cfg.Brokers, cfg.Partitions, cfg.UntilEnd = []string{w.broker.Addr()}, map[string][]int32{topic: {0, 1, 2}}, toEnd
	cfg.MemoryBudget, cfg.Limits.FlushBytes, cfg.Limits.FlushDeleteBytes, cfg.Limits.FlushAge = 64<<20, 128<<10, 16<<10, 200*time.Millisecond
	cfg.Client = []kgo.Opt{kgo.FetchMaxWait(100 * time.Millisecond)}
	worker, err := flows.NewWorker(cfg, w.bucket(w.bad), prometheus.NewRegistry(), zerolog.New(&w.log))
	if err != nil {
		w.t.Fatal(err)
	}
	limit := time.Minute + time.Duration(*records)*20*time.Millisecond // only for when to give up
	if !toEnd {
		limit = life
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), limit)
	defer cancel()
	err = worker.Run(ctx, context.WithoutCancel(ctx))
	if toEnd && err != nil || !toEnd && ctx.Err() == nil {
		w.t.Fatalf("a worker ended by itself, or not in time: %v\n%s", err, w.faults())
	}
}

// faults tells what went wrong so far.
func (w *world) faults() string {
	var b strings.Builder
	counts := w.front.Faults()
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "%5d %s\n", counts[name], name)
	}
	return b.String()
}

// exact compares what the good store holds with the logs.
func (w *world) exact() *archive.Report {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "logs.jsonl")
	out, err := recording.Create(file)
	if err != nil {
		w.t.Fatal(err)
	}
	stop := context.WithoutCancel(w.t.Context())
	if err := recording.Capture(w.t.Context(), stop, out, recording.CaptureOptions{
		Partitions: map[string][]int32{topic: {0, 1, 2}}, Client: w.broker.Client(),
	}); err != nil {
		w.t.Fatal(err)
	}
	if err := out.Commit(); err != nil {
		w.t.Fatal(err)
	}
	want, err := archive.Expect(archive.Recorded(file))
	if err != nil {
		w.t.Fatal(err)
	}
	report, err := archive.Check(w.t.Context(), w.bucket(w.good), want, archive.CheckOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	if report.Wrong > 0 || report.Rows != want.Rows || report.Deletes != want.Deletes || want.Rows == 0 {
		w.t.Errorf("%d rows and %d deletes are in the logs\n%s", want.Rows, want.Deletes, report)
	}
	return report
}

// Workers are killed one after another while a store fails in every way at
// random: a quarter of all requests.
func TestAStoreThatFailsInEveryWayCostsRows(t *testing.T) {
	w := newWorld(t)
	client, err := kgo.NewClient(w.broker.Client()...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := kadm.NewClient(client).CreateTopic(t.Context(), partitions, 1, nil, topic); err != nil {
		t.Fatal(err)
	}
	cfg := traffic.Default(*seed, 0)
	cfg.SegmentRows, cfg.Pace, cfg.Mix.Repeat, cfg.Mix.DropPartition = 300, 20*time.Millisecond, 80, 3
	for p := range int32(partitions) {
		cfg.Logs = append(cfg.Logs, traffic.Log{Topic: topic, Partition: p})
	}
	var writing sync.WaitGroup
	defer writing.Wait()
	var sent error
	writing.Go(func() {
		sent = traffic.Send(t.Context(), t.Context(), traffic.New(cfg), traffic.Sending{Client: w.broker.Client(), Records: *records, Rate: 300})
	})
	deaths := max(3, int(*records/300))
	for i := range deaths {
		life := time.Duration(300+w.rng.IntN(1200)) * time.Millisecond
		if i != deaths/2 {
			w.run(life, false)
			continue
		}
		wait := w.expire()
		w.run(2*time.Second, false)
		wait()
	}
	if writing.Wait(); sent != nil {
		t.Fatal(sent)
	}
	w.run(0, true)
	report := w.exact()
	if text := w.log.String(); strings.Contains(text, "panic") || strings.Contains(text, "DATA RACE") {
		t.Error("a worker panicked")
	}
	t.Logf("checksum %s, %d deaths: lost %d, doubled %d\n%s\n%s", w.bad.Checksum, deaths, report.Lost, report.Doubled, report, w.faults())
}
