//go:build unix

package proctest

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/msgpb"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/recording"
	"flowgraph/internal/traffic"
	"flowgraph/sinks"
)

// apart is a log of its own in a world, archived under a root of its own.
type apart struct {
	*world
	topic  string
	stream *traffic.Stream
}

// apart makes a topic of one partition and the traffic for it.
func (w *world) apart(t *testing.T, topic string, settings ...string) *apart {
	t.Helper()
	x := *w
	a := &apart{world: &x, topic: topic}
	x.t, x.topics, x.docs, x.began = t, map[string]int32{}, map[string]*checkpoints.Document{}, nil
	cfg := sinks.Default()
	cfg.Endpoint, cfg.Bucket, cfg.Root, cfg.AccessKey, cfg.SecretKey = w.store(), bucketName, topic, access, access
	bucket, err := sinks.NewBucket(cfg, zerolog.Nop(), sinks.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bucket.Close)
	t.Cleanup(func() {
		w.files = x.files
		for _, p := range x.began {
			if p.logged("panic") || p.logged("DATA RACE") || t.Failed() {
				t.Errorf("the last of %s:\n%s", p.name, p.tail(12))
			}
		}
	})
	x.bucket = bucket
	x.makeTopics(map[string]int32{topic: 1})
	for i := 0; i < len(settings); i += 2 {
		x.alter(topic, settings[i], settings[i+1])
	}
	a.begin(options.seed)
	return a
}

// begin makes the traffic of a log from its first record on. Nothing that
// later records need is made on the way, so that a part may be missing.
func (a *apart) begin(seed uint64) {
	cfg := traffic.Default(seed, 0)
	cfg.Logs, cfg.SegmentRows, cfg.Pace = []traffic.Log{{Topic: a.topic}}, 300, 20*time.Millisecond
	cfg.Mix.DropCollection, cfg.Mix.DropPartition = 0, 0
	a.stream = traffic.New(cfg)
}

func (w *world) alter(topic, name, value string) {
	w.t.Helper()
	resp, err := w.admin.AlterTopicConfigs(w.t.Context(), []kadm.AlterConfig{{Name: name, Value: &value}}, topic)
	if err == nil {
		_, err = resp.On(topic, nil)
	}
	if err != nil {
		w.t.Fatalf("%s=%s of topic %s: %v", name, value, topic, err)
	}
}

// write sends so many records of the stream.
func (a *apart) write(n int64) {
	a.t.Helper()
	if err := traffic.Send(a.t.Context(), a.t.Context(), a.stream, traffic.Sending{Client: a.client(), Records: n}); err != nil {
		a.t.Fatal(err)
	}
}

// args are a worker's that reads this log alone.
func (a *apart) args(more ...string) []string {
	return append(append(quick(), "--topics="+a.topic, "--s3-root="+a.topic, "--group="+a.topic, "--session-timeout=2s"), more...)
}

// toTheEnd runs a worker to the end of the log, which must answer a code.
func (a *apart) toTheEnd(code int, more ...string) *worker {
	a.t.Helper()
	p := a.worker("worker", a.args(append(more, "--until-end")...)...)
	p.exits(code)
	a.follow()
	return p
}

// says makes sure that a worker's output tells of something.
func (a *apart) says(p *worker, words ...string) {
	a.t.Helper()
	for _, w := range words {
		if !p.logged(w) {
			a.t.Fatalf("%q is not in the output of %s:\n%s", w, p.name, p.tail(10))
		}
	}
}

// operator runs another command of the program over the same settings.
func (a *apart) operator(code int, args ...string) *child {
	a.t.Helper()
	c := spawn(a.t, a.dir, fmt.Sprintf("%s-%d", args[0], a.number()), binary(), append(args,
		"--brokers="+a.toBroker, "--s3-endpoint="+a.toStore, "--s3-bucket="+bucketName, "--s3-root="+a.topic,
		"--s3-access-key="+access, "--s3-secret-key="+access)...)
	c.exits(code)
	return c
}

// end is the log's end, that of its open transactions left out.
func (a *apart) end() int64 {
	a.t.Helper()
	listed, err := a.admin.ListCommittedOffsets(a.t.Context(), a.topic)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		a.t.Fatal(err)
	}
	return listed[a.topic][0].Offset
}

func (a *apart) seek() int64 {
	a.t.Helper()
	a.follow()
	d := a.docs[a.topic+"-0"]
	if d == nil {
		return -1
	}
	return d.Seek.Offset
}

// records are those that the log has now.
func (a *apart) records() (all []recording.Record) {
	a.t.Helper()
	file := filepath.Join(a.dir, fmt.Sprintf("log-%d.jsonl", a.number()))
	out, err := recording.Create(file)
	if err != nil {
		a.t.Fatal(err)
	}
	if err := recording.Capture(a.t.Context(), a.t.Context(), out, recording.CaptureOptions{
		Partitions: map[string][]int32{a.topic: {0}}, Client: a.client(),
	}); err != nil {
		a.t.Fatal(err)
	}
	if err := out.Commit(); err != nil {
		a.t.Fatal(err)
	}
	for r, err := range archive.Recorded(file) {
		if err != nil {
			a.t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// A log may lose its beginning, be made anew, have holes, and end in things
// that are no records. Each is a log of its own beside the others.
func TestALogThatIsNotWholeIsReadAsIfItWere(t *testing.T) {
	w := newWorld(t)
	t.Run("retention", func(t *testing.T) { retained(w.apart(t, "retained")) })
	t.Run("made anew", func(t *testing.T) { anew(w.apart(t, "anew")) })
	t.Run("compacted", func(t *testing.T) {
		compacted(w.apart(t, "compacted", "cleanup.policy", "compact", "segment.ms", "500",
			"min.cleanable.dirty.ratio", "0.001", "min.compaction.lag.ms", "0", "delete.retention.ms", "0"))
	})
	t.Run("transactions", func(t *testing.T) { transacted(w.apart(t, "transacted")) })
	t.Run("cut back", func(t *testing.T) { cutBack(w.apart(t, "cutback")) })
}

// The broker loses the end of its log, as a machine does that had not written
// it to its disk, and producers write on: other records stand at offsets that
// are stored. Neither a worker that waits there nor one that starts goes on
// until an operator says so, and then every record is stored that is there.
func cutBack(a *apart) {
	r, ok := a.stack.(*real)
	if !ok {
		a.t.Skip("only with a real broker")
	}
	a.write(200)
	a.toTheEnd(0)
	kept, cut := r.logSize(a.topic), a.end()
	a.write(200)
	a.toTheEnd(0)
	stored := a.end()
	// It has nothing to read, and will not look while the broker is away.
	waits := a.worker("waits", a.args("--topics="+a.topic+":0")...)
	await(a.t, saying("it does not claim"), func() bool { return waits.logged("\"claimed\"") })
	waits.signal(syscall.SIGSTOP)
	r.loseEnd(a.topic, kept)
	grown := int64(0)
	for ; grown <= stored+100; grown = a.end() {
		a.write(100)
	}
	waits.signal(syscall.SIGCONT)
	await(a.t, saying("it goes on"), func() bool { return waits.logged("stopped; waits for an operator") })
	a.says(waits, "data loss")
	waits.orderly()
	for _, onGap := range []string{"stop", "continue"} {
		a.says(a.toTheEnd(1, "--on-gap="+onGap), "data loss", "cut back", fmt.Sprintf("ends at %d", cut))
	}
	if at := a.seek(); at != stored {
		a.t.Errorf("the position moved from %d to %d", stored, at)
	}
	a.operator(1, "accept-log", "--vchannel="+a.topic+"-0")
	a.operator(0, "accept-log", "--vchannel="+a.topic+"-0", "--yes")
	a.operator(1, "accept-log", "--vchannel="+a.topic+"-0", "--yes") // it is done
	a.docs = map[string]*checkpoints.Document{}                      // its positions went back
	a.toTheEnd(0)
	report := a.operator(0, "verify", "--complete", "--topics="+a.topic)
	if at := a.seek(); at != a.end() {
		a.t.Errorf("the seek position is %d, the log ends at %d", at, a.end())
	}
	a.says(&worker{child: report}, "of an end that the log lost")
	a.t.Logf("%d of %d records were cut off, the log has %d now; nothing was read behind the cut until that was accepted:\n%s", stored-cut, stored, grown, report.tail(8))
}

// Records behind the stored position are deleted: stop by name, or go on
// behind the gap and miss exactly these.
func retained(a *apart) {
	a.write(200)
	a.toTheEnd(0)
	from := a.end()
	a.write(200)
	all := a.records()
	start := from + 120
	cut := kadm.Offsets{}
	cut.Add(kadm.Offset{Topic: a.topic, At: start})
	if resp, err := a.admin.DeleteRecords(a.t.Context(), cut); err != nil || resp.Error() != nil {
		a.t.Fatalf("delete records: %v, %v", err, resp.Error())
	}
	a.says(a.toTheEnd(1), "data loss", fmt.Sprintf("offsets %d to %d are lost", a.docs[a.topic+"-0"].ReadFrom.Offset, start-1))
	if at := a.seek(); at != from {
		a.t.Errorf("the position moved from %d to %d", from, at)
	}
	a.says(a.toTheEnd(0, "--on-gap=continue"), "goes on behind the gap")
	want := archive.NewExpected()
	for _, r := range all {
		if r.Offset < from || r.Offset >= start {
			want.Add(r)
		}
	}
	a.t.Logf("%d of %d records were deleted unread:\n%s", start-from, len(all), a.exact(want))
}

// The topic is deleted and made anew while a worker reads it: it stops, and
// once told so goes on with the new one, whose rows are there beside the old.
func anew(a *apart) {
	a.write(200)
	p := a.worker("worker", a.args()...)
	await(a.t, saying("nothing is stored"), func() bool { return a.seek() == a.end() })
	if options.stack == "embedded" { // a running worker looks every ten seconds
		p.orderly()
	}
	old := a.exact(a.expected())
	if _, err := a.admin.DeleteTopic(a.t.Context(), a.topic); err != nil {
		a.t.Fatal(err)
	}
	a.makeTopics(map[string]int32{a.topic: 1})
	a.begin(options.seed + 1)
	a.write(300)
	if !p.ended() {
		await(a.t, saying("the worker does not notice"), func() bool { return p.logged("stopped; waits for an operator") })
		a.says(p, "topic ID")
		p.orderly()
	}
	a.toTheEnd(1)
	a.operator(1, "accept-log", "--vchannel="+a.topic+"-0")
	a.operator(0, "accept-log", "--vchannel="+a.topic+"-0", "--yes")
	a.docs = map[string]*checkpoints.Document{} // its positions begin again
	a.toTheEnd(0)
	report := a.operator(0, "verify", "--complete", "--topics="+a.topic)
	if at := a.seek(); at != a.end() {
		a.t.Errorf("the seek position is %d, the new log ends at %d", at, a.end())
	}
	a.t.Logf("the old log:\n%sthe new one:\n%s", old, report.tail(8))
}

// Compaction takes records out everywhere, where the position stands too: it
// is no loss, and nothing waits for offsets that are gone.
func compacted(a *apart) {
	client, err := kgo.NewClient(append(a.client(), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		a.t.Fatal(err)
	}
	defer client.Close()
	tick, err := proto.Marshal(&msgpb.TimeTickMsg{Base: &commonpb.MsgBase{MsgType: commonpb.MsgType_TimeTick, Timestamp: 1}})
	if err != nil {
		a.t.Fatal(err)
	}
	written := 0
	keyed := func(n int) { // every third record stays: the others are soon replaced
		for range n {
			r := a.stream.Next()
			batch := []*kgo.Record{{Key: fmt.Appendf(nil, "%d", written), Value: r.Value, Timestamp: time.UnixMilli(r.Timestamp)}}
			for range 2 {
				batch = append(batch, &kgo.Record{Key: []byte("replaced"), Value: tick, Timestamp: time.UnixMilli(r.Timestamp)})
			}
			for _, k := range batch {
				k.Topic = a.topic
				written++
			}
			if err := client.ProduceSync(a.t.Context(), batch...).FirstErr(); err != nil {
				a.t.Fatal(err)
			}
		}
	}
	keyed(100)
	p := a.worker("killed", a.args()...)
	await(a.t, saying("nothing is stored"), func() bool { return a.seek() > 100 })
	p.kill()
	keyed(100)
	pause(600 * time.Millisecond) // the segment is closed by the next record
	keyed(1)
	await(a.t, saying("the broker does not compact"), func() bool {
		a.compact()
		return len(a.records()) < written/2
	})
	left := len(a.records())
	report := a.finish(a.args()...)
	if at, end := a.seek(), a.end(); at != end {
		a.t.Errorf("the seek position is %d, the log ends at %d", at, end)
	}
	a.t.Logf("%d of %d records are left:\n%s", left, written, report)
}

// compact asks the broker to; a real one does it by itself.
func (w *world) compact() {
	if e, ok := w.stack.(*embedded); ok {
		e.kafka.Cluster().Compact()
	}
}

// Transactions that are committed, aborted, fenced and still open share a log,
// and its end.
func transacted(a *apart) {
	other := *a
	other.begin(options.seed + 1)
	foreign := other.stream // its rows must not be seen
	producer := func(id string) *kgo.Client {
		c, err := kgo.NewClient(append(a.client(), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionalID(id))...)
		if err == nil {
			err = c.BeginTransaction()
		}
		if err != nil {
			a.t.Fatal(err)
		}
		a.t.Cleanup(c.Close)
		return c
	}
	send := func(c *kgo.Client, s *traffic.Stream, n int) {
		for range n {
			r := s.Next()
			r.Topic = a.topic
			if err := c.ProduceSync(a.t.Context(), r.Kafka()).FirstErr(); err != nil {
				a.t.Fatal(err)
			}
		}
	}
	end := func(c *kgo.Client, how kgo.TransactionEndTry) {
		if err := c.EndTransaction(a.t.Context(), how); err != nil {
			a.t.Fatal(err)
		}
	}
	good, bad, zombie := producer("good"), producer("bad"), producer("zombie")
	for range 4 { // interleaved
		send(good, a.stream, 15)
		send(bad, foreign, 10)
		send(zombie, foreign, 5)
	}
	end(good, kgo.TryCommit)
	heir := producer("zombie") // the first record tells the broker, which aborts what the other had open
	send(heir, foreign, 1)
	if err := zombie.EndTransaction(a.t.Context(), kgo.TryCommit); err == nil {
		a.t.Error("a fenced producer has committed")
	} else if !errors.Is(err, kerr.InvalidProducerEpoch) && !errors.Is(err, kerr.ProducerFenced) {
		a.t.Logf("the fenced producer: %v", err)
	}
	end(heir, kgo.TryAbort)
	end(bad, kgo.TryAbort) // the log ends in aborted records and their marker
	a.toTheEnd(0)
	closed := a.end()
	if at := a.seek(); at != closed {
		a.t.Errorf("the seek position is %d, the log ends at %d", at, closed)
	}
	open := producer("open")
	send(open, foreign, 20)
	a.toTheEnd(0) // it does not wait for the transaction
	if at := a.seek(); at != closed || a.end() != closed {
		a.t.Errorf("the seek position is %d with a transaction open from %d on", at, closed)
	}
	end(open, kgo.TryAbort)
	report := a.finish(a.args()...)
	if at, end := a.seek(), a.end(); at != end || end < closed+21 {
		a.t.Errorf("the seek position is %d, the log ends at %d", at, end)
	}
	a.t.Logf("65 records aborted, 20 fenced:\n%s", report)
}
