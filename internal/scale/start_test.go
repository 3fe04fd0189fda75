//go:build linux

package scale

import (
	"fmt"
	"testing"
	"time"

	"flowgraph/checkpoints"
	"flowgraph/internal/nullstore"
)

// begin starts a worker, waits until it has claimed everything and stops it.
func (w *world) begin(what string) nullstore.Counts {
	w.t.Helper()
	before, begun := w.store.Counts(), time.Now()
	k := w.run("--instance-id=the-one", "--memory-budget=256MiB")
	k.ready()
	w.t.Logf("%s: ready after %.2f s and %.2f s of CPU with %.0f MB, %+v", what,
		time.Since(begun).Seconds(), k.cpu(), k.memory("VmHWM"), w.store.Counts().Less(before))
	k.stop()
	return w.store.Counts().Less(before)
}

func TestAStartAsksFewThingsOfEachPartition(t *testing.T) {
	w := newWorld(t, size(options.partitions, 16, 1000), false)
	w.begin("the first start")
	again := w.begin("the second start")
	n := int64(w.partitions)
	// A document read and claimed, the mark looked for; and the probe of the store.
	if again.Lists > 0 || again.Gets != n || again.Stats > n+10 || again.Puts > n+10 {
		t.Errorf("a start of %d partitions asks %+v", n, again)
	}
}

func TestAStartDoesNotDependOnHistory(t *testing.T) {
	w := newWorld(t, 1, false)
	in := &inserts{w: w}
	for i := range 3 {
		in.send(0, segmentID(i), 10, time.Now())
	}
	w.tickOnce(time.Now())
	w.begin("without history")
	w.begin("with three open segments, first met")
	want := w.begin("with three open segments")
	topicID := w.topicID()
	made := 0
	for _, history := range []int{10, 1000, size(0, 10_000, 100_000)} {
		for ; made < history; made++ {
			w.flushed(topicID, made)
		}
		got := w.begin(fmt.Sprintf("behind %d flushed segments", history))
		// A claim remembers where it began to read: a few bytes.
		if got.Requests() != want.Requests() || got.Read > want.Read+1000 || got.Stored > want.Stored+1000 {
			t.Errorf("a start behind %d flushed segments: %+v, without %+v", history, got, want)
		}
	}
}

// flushed stores what a segment that is flushed and a partition that was made
// leave in the bucket.
func (w *world) flushed(topicID string, n int) {
	w.t.Helper()
	s := checkpoints.Segment{
		ID: 1<<50 + int64(n), Collection: collection, Partition: collection + 1, Level: checkpoints.L1, State: checkpoints.Flushed,
		Start: checkpoints.Position{Offset: 0, LeaderEpoch: -1}, End: checkpoints.Position{Offset: 1, LeaderEpoch: -1},
		Rows: 1, Bytes: 1000, Fields: []int64{0, 1, 100, 101}, PKField: 100,
		Logs: []checkpoints.Log{{ID: fmt.Sprintf("1%017d", n+1), Rows: 1, Bytes: 1000, MinTS: 1, MaxTS: 1}},
	}
	v := checkpoints.VChannel{Topic: topic}.Name()
	data, err := checkpoints.NewManifest(&checkpoints.Document{VChannel: v, TopicID: topicID}, &s).Encode()
	if err != nil {
		w.t.Fatal(err)
	}
	w.store.Set(bucket+"/files/"+s.ManifestKey(), data)
	for _, key := range s.DataKeys(s.Logs[0].ID) {
		w.store.Set(bucket+"/files/"+key, nil)
	}
	w.store.Set(bucket+"/files/"+checkpoints.EventKey(v, topicID, int64(1+n)), []byte("{}"))
}

func (w *world) topicID() string {
	w.t.Helper()
	d, err := checkpoints.Decode(checkpoints.VChannel{Topic: topic}.Name(), w.store.Body(documentKey(0)))
	if err != nil {
		w.t.Fatal(err)
	}
	return d.TopicID
}
