//go:build unix

package proctest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/recording"
	"flowgraph/internal/traffic"
	"flowgraph/sinks"
)

const (
	bucketName = "a-bucket"
	access     = "minioadmin" // access key and secret key
)

// world is a stack, the workers on it, and what their documents said so far.
type world struct {
	stack
	t      *testing.T
	dir    string
	rng    *rand.Rand
	bucket *sinks.Bucket
	admin  *kadm.Client
	topics map[string]int32                 // made by the test, with their partitions
	docs   map[string]*checkpoints.Document // as last seen, by vchannel
	began  []*worker                        // all of them, in order
	files  int

	// Where workers are told to find broker and store.
	toBroker, toStore string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s := newStack(t, "")
	return worldOn(t, s, s.broker(), s.store())
}

// worldOn is a world whose workers find the stack at other addresses.
func worldOn(t *testing.T, s stack, toBroker, toStore string) *world {
	t.Helper()
	t.Logf("repeat with: go test ./internal/proctest -run '^%s$' -stack %s -kills %d -spells %d -seed %d", t.Name(), options.stack, options.kills, options.spells, options.seed)
	w := &world{
		stack: s, toBroker: toBroker, toStore: toStore, t: t, dir: t.TempDir(), topics: map[string]int32{}, docs: map[string]*checkpoints.Document{},
		rng: rand.New(rand.NewPCG(options.seed, 1)),
	}
	cfg := sinks.Default()
	cfg.Endpoint, cfg.Bucket, cfg.Root, cfg.AccessKey, cfg.SecretKey = w.store(), bucketName, "files", access, access
	bucket, err := sinks.NewBucket(cfg, zerolog.Nop(), sinks.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bucket.Close)
	client, err := kgo.NewClient(w.client()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	w.bucket, w.admin = bucket, kadm.NewClient(client)
	t.Cleanup(func() {
		for _, p := range w.began {
			for _, fault := range []string{"DATA RACE", "panic"} {
				if p.logged(fault) {
					t.Errorf("%s: %s", p.name, fault)
				}
			}
		}
		for _, p := range w.began[max(0, len(w.began)-4):] {
			if t.Failed() {
				t.Logf("the last of %s:\n%s", p.name, p.tail(12))
			}
		}
	})
	return w
}

// client is how this process reaches the broker.
func (w *world) client() []kgo.Opt { return past(w.broker(), w.toBroker) }

// past lets a client reach a broker that sends its clients elsewhere.
func past(broker, told string) []kgo.Opt {
	return []kgo.Opt{kgo.SeedBrokers(broker), kgo.Dialer(func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == told {
			address = broker
		}
		return (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, network, address)
	})}
}

// makeTopics creates topics; old timestamps must not cost records.
func (w *world) makeTopics(partitions map[string]int32) {
	w.t.Helper()
	settings := map[string]*string{"max.message.bytes": kadm.StringPtr("16777216"), "retention.ms": kadm.StringPtr("-1")}
	for topic, n := range partitions {
		if _, err := w.admin.CreateTopic(w.t.Context(), n, -1, settings, topic); err != nil {
			w.t.Fatalf("create topic %s: %v", topic, err)
		}
		w.topics[topic] = n
	}
}

// partitions are those of all topics.
func (w *world) partitions() map[string][]int32 {
	all := map[string][]int32{}
	for topic, n := range w.topics {
		for id := range n {
			all[topic] = append(all[topic], id)
		}
	}
	return all
}

// vchannels are the names of all partitions.
func (w *world) vchannels() []string {
	var names []string
	for topic, ids := range w.partitions() {
		for _, id := range ids {
			names = append(names, fmt.Sprintf("%s-%d", topic, id))
		}
	}
	slices.Sort(names)
	return names
}

// expected reads all logs as they are.
func (w *world) expected() *archive.Expected {
	w.t.Helper()
	file := filepath.Join(w.dir, fmt.Sprintf("logs-%d.jsonl", w.number()))
	out, err := recording.Create(file)
	if err != nil {
		w.t.Fatal(err)
	}
	defer os.Remove(file)
	if err := recording.Capture(w.t.Context(), context.WithoutCancel(w.t.Context()), out, recording.CaptureOptions{
		Partitions: w.partitions(), Client: w.client(),
	}); err != nil {
		w.t.Fatalf("read the logs: %v", err)
	}
	if err := out.Commit(); err != nil {
		w.t.Fatal(err)
	}
	want, err := archive.Expect(archive.Recorded(file))
	if err != nil {
		w.t.Fatal(err)
	}
	return want
}

// exact compares everything in the bucket with everything that is expected.
func (w *world) exact(want *archive.Expected) *archive.Report {
	w.t.Helper()
	report, err := archive.Check(w.t.Context(), w.bucket, want, archive.CheckOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	if report.Wrong > 0 {
		w.t.Fatalf("of %d records:\n%s", want.Records, report)
	}
	if report.Rows != want.Rows || report.Deletes != want.Deletes || want.Rows == 0 {
		w.t.Fatalf("%d rows and %d deletes are in the logs, %d and %d in the bucket", want.Rows, want.Deletes, report.Rows, report.Deletes)
	}
	return report
}

// data lists the objects that hold rows, deletes and bad records.
func (w *world) data() []string {
	w.t.Helper()
	var keys []string
	for _, prefix := range []string{"insert_log/", "delta_log/", "quarantine/"} {
		for info, err := range w.bucket.List(w.t.Context(), prefix) {
			if err != nil {
				w.t.Fatal(err)
			}
			keys = append(keys, info.Key)
		}
	}
	return keys
}

// finish reads to the ends of the logs, compares, and makes sure that running
// once more adds nothing.
func (w *world) finish(args ...string) *archive.Report {
	w.t.Helper()
	w.worker("last", append(args, "--until-end")...).exits(0)
	w.follow()
	want := w.expected()
	report := w.exact(want)
	before := w.data()
	w.worker("again", append(args, "--until-end")...).exits(0)
	w.follow()
	if after := w.data(); !slices.Equal(before, after) {
		w.t.Fatalf("running again made of %d objects %d", len(before), len(after))
	}
	again := w.exact(want)
	if again.Rows != report.Rows || again.Deletes != report.Deletes || again.Quarantined != report.Quarantined {
		w.t.Fatalf("running again made of\n%sthis:\n%s", report, again)
	}
	return report
}

func (w *world) number() int {
	w.files++
	return w.files
}

// generated is the traffic of a test over these logs.
func (w *world) generated(topics map[string]int32) traffic.Config {
	w.makeTopics(topics)
	cfg := traffic.Default(options.seed, 0)
	// So many segments, and so much time in the log, that some are sealed.
	cfg.SegmentRows, cfg.Pace = 300, 20*time.Millisecond
	// So few ticks, and so many repeats, that some repeats lie on the other
	// side of a kill.
	cfg.Mix.Tick, cfg.Mix.Repeat = 60, 80
	cfg.Mix.DropPartition = 3
	for _, topic := range slices.Sorted(maps.Keys(topics)) {
		for id := range topics[topic] {
			cfg.Logs = append(cfg.Logs, traffic.Log{Topic: topic, Partition: id})
		}
	}
	return cfg
}
