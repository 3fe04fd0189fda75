package traffic

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/msgpb"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"flowgraph/internal/archive"
	"flowgraph/internal/devstack"
	"flowgraph/internal/recording"
)

// records makes n records with the offsets that they have in empty logs.
func records(s *Stream, n int) []recording.Record {
	next := map[Log]int64{}
	out := make([]recording.Record, n)
	for i := range out {
		out[i] = s.Next()
		l := Log{out[i].Topic, out[i].Partition}
		out[i].Offset = next[l]
		next[l]++
	}
	return out
}

func TestEqualSeedsGiveEqualStreams(t *testing.T) {
	a, b, other := records(New(Default(7, 3)), 3000), records(New(Default(7, 3)), 3000), records(New(Default(8, 3)), 3000)
	same := func(x, y recording.Record) bool {
		return x.Topic == y.Topic && x.Timestamp == y.Timestamp && bytes.Equal(x.Value, y.Value) && len(x.Headers) == len(y.Headers)
	}
	if !slices.EqualFunc(a, b, same) {
		t.Error("two streams of one seed differ")
	}
	if slices.EqualFunc(a, other, same) {
		t.Error("streams of two seeds are equal")
	}
}

// The generator counts by what it meant to write, the oracle by what it reads:
// where they disagree one of them misunderstands the messages.
func TestOracleAndGeneratorDisagree(t *testing.T) {
	for seed := range uint64(5) {
		s := New(Default(seed, 3))
		want := archive.NewExpected()
		for _, r := range records(s, 6000) {
			want.Add(r)
		}
		got := Totals{
			Records: want.Records, Bytes: s.Totals().Bytes, Rows: want.Rows, Deletes: want.Deletes,
			Repeated: want.Repeated, AfterDrop: want.Excluded, Bad: want.Bad,
		}
		if got != s.Totals() {
			t.Errorf("seed %d: the oracle says  %+v\nthe generator says %+v", seed, got, s.Totals())
		}
		if got.Rows == 0 || got.Deletes == 0 || got.Repeated == 0 || got.AfterDrop == 0 || got.Bad == 0 {
			t.Errorf("seed %d lacks something: %+v", seed, got)
		}
	}
}

func TestStreamIsNotWhatMilvusWrites(t *testing.T) {
	rows, late, none, largest := map[int64]bool{}, 0, 0, 0
	newest := map[[2]int64]int64{} // segment by partition and log
	ticks := map[string]uint64{}
	for _, r := range records(New(Default(3, 2)), 8000) {
		largest = max(largest, len(r.Value))
		var tick msgpb.TimeTickMsg
		var m msgpb.InsertRequest
		if proto.Unmarshal(r.Value, &tick) == nil && tick.GetBase().GetMsgType() == commonpb.MsgType_TimeTick {
			if tick.GetBase().GetTimestamp() < ticks[r.Topic] {
				t.Fatal("a tick goes back")
			}
			ticks[r.Topic] = tick.GetBase().GetTimestamp()
			continue
		}
		if proto.Unmarshal(r.Value, &m) != nil || m.GetBase().GetMsgType() != commonpb.MsgType_Insert || len(m.GetRowIDs()) != int(m.GetNumRows()) {
			continue
		}
		for i, id := range m.GetRowIDs() {
			if m.GetTimestamps()[i] <= ticks[r.Topic] {
				t.Fatal("a row is at or below a tick before it")
			}
			rows[id] = true
		}
		at := [2]int64{m.GetPartitionID(), int64(len(r.Topic)) + int64(r.Topic[len(r.Topic)-1])}
		switch {
		case m.GetSegmentID() == 0:
			none++
		case m.GetSegmentID() < newest[at]:
			late++
		default:
			newest[at] = m.GetSegmentID()
		}
	}
	if late == 0 || none == 0 || largest < 100<<10 || largest > 600<<10 {
		t.Errorf("%d late messages, %d without segment, largest record %d bytes", late, none, largest)
	}
}

func TestSendLosesOrReordersRecords(t *testing.T) {
	broker, err := devstack.StartBroker(devstack.BrokerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	cfg := Default(5, 2)
	client, err := kgo.NewClient(broker.Client()...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, l := range cfg.Logs {
		if _, err := kadm.NewClient(client).CreateTopic(t.Context(), 1, 1, nil, l.Topic); err != nil {
			t.Fatal(err)
		}
	}
	if err := Send(t.Context(), context.WithoutCancel(t.Context()), New(cfg), Sending{Client: broker.Client(), Records: 500}); err != nil {
		t.Fatal(err)
	}
	want := map[string][][]byte{}
	for _, r := range records(New(cfg), 500) {
		want[r.Topic] = append(want[r.Topic], r.Value)
	}
	file := t.TempDir() + "/sent.jsonl"
	w, err := recording.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := recording.Capture(t.Context(), t.Context(), w, recording.CaptureOptions{
		Partitions: map[string][]int32{cfg.Logs[0].Topic: {0}, cfg.Logs[1].Topic: {0}}, Client: broker.Client(),
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	for r, err := range archive.Recorded(file) {
		if err != nil {
			t.Fatal(err)
		}
		if len(want[r.Topic]) == 0 || !bytes.Equal(want[r.Topic][0], r.Value) {
			t.Fatalf("%s offset %d is not the record sent", r.Topic, r.Offset)
		}
		want[r.Topic] = want[r.Topic][1:]
	}
	for topic, left := range want {
		if len(left) > 0 {
			t.Errorf("%d records of %s are not in the log", len(left), topic)
		}
	}
}
