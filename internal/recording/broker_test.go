package recording_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/internal/recording"
)

func broker(t *testing.T, opts ...kfake.Opt) (*kfake.Cluster, []kgo.Opt) {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, []kgo.Opt{kgo.SeedBrokers(c.ListenAddrs()...)}
}

func capture(t *testing.T, path string, partitions map[string][]int32, client []kgo.Opt) []recording.Record {
	t.Helper()
	w, err := recording.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	err = recording.Capture(t.Context(), t.Context(), w, recording.CaptureOptions{Partitions: partitions, Client: client})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	records, err := readAll(path)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// byPartition is what must survive: each partition's records in order, all
// but the offsets.
func byPartition(records []recording.Record) map[string][]recording.Record {
	out := map[string][]recording.Record{}
	for _, r := range records {
		key := r.Topic + string(rune('0'+r.Partition))
		r.Offset = 0
		out[key] = append(out[key], r)
	}
	return out
}

func partitionsOf(s recording.Survey) map[string][]int32 {
	out := map[string][]int32{}
	for topic, n := range s.Partitions {
		for id := range n {
			out[topic] = append(out[topic], id)
		}
	}
	return out
}

func TestReplayedAndRecordedAgainIsTheSame(t *testing.T) {
	odd := filepath.Join(t.TempDir(), "odd.jsonl.zst")
	writeAll(t, odd, []recording.Record{
		{Topic: "t", Partition: 2, Offset: 10, Timestamp: 5, Headers: []recording.Header{}},
		{Topic: "t", Partition: 0, Offset: 3, Timestamp: 4102444800000, Key: []byte{}, Value: []byte{}, Headers: []recording.Header{{Name: "h", Value: []byte{}}, {Name: "h"}}},
		{Topic: "t", Partition: 2, Offset: 11, Timestamp: 4, Key: []byte("k"), Value: bytes.Repeat([]byte("big"), 6<<20), Headers: []recording.Header{}},
	})
	files := []string{odd}
	for _, name := range []string{"all_types", "concurrent", "ddl", "upsert", "varchar_pk"} {
		files = append(files, filepath.Join("../../testdata/recordings", name, "records.jsonl.gz"))
	}
	for _, path := range files {
		_, client := broker(t)
		var done int64
		s, err := recording.Replay(t.Context(), t.Context(), path, recording.ReplayOptions{
			Client: client, Progress: func(n, of int64) { done = n },
		})
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		want, err := readAll(path)
		if err != nil {
			t.Fatal(err)
		}
		if s.Records != int64(len(want)) || done != s.Records {
			t.Errorf("%s: %d records told, %d done, %d in the file", path, s.Records, done, len(want))
		}
		got := capture(t, filepath.Join(t.TempDir(), "again.gz"), partitionsOf(s), client)
		if !reflect.DeepEqual(byPartition(got), byPartition(want)) {
			t.Errorf("%s: what was recorded again differs", path)
		}
	}
}

func TestReplayDoesNotMixIntoATopicThatHasRecords(t *testing.T) {
	_, client := broker(t)
	path := filepath.Join(t.TempDir(), "r.jsonl")
	writeAll(t, path, []recording.Record{{Topic: "a", Value: []byte("1")}, {Topic: "b", Value: []byte("2")}})
	replay := func(appending bool) error {
		_, err := recording.Replay(t.Context(), t.Context(), path, recording.ReplayOptions{Client: client, Append: appending})
		return err
	}
	if err := replay(false); err != nil {
		t.Fatal(err)
	}
	if err := replay(false); !errors.Is(err, recording.ErrNotEmpty) || !strings.Contains(err.Error(), "topic a") {
		t.Errorf("the second replay: %v, want ErrNotEmpty of topic a", err)
	}
	if err := replay(true); err != nil {
		t.Errorf("appending: %v", err)
	}
	got := capture(t, path+".again", map[string][]int32{"a": {0}, "b": {0}}, client)
	if len(got) != 4 {
		t.Errorf("%d records after one replay, one refused and one appended; want 4", len(got))
	}
}

func TestReplayChangesNothingWhenOneTopicIsTooNarrow(t *testing.T) {
	cluster, client := broker(t)
	if err := cluster.CreateTopic("narrow", 1, nil); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "r.jsonl")
	writeAll(t, path, []recording.Record{{Topic: "missing"}, {Topic: "narrow", Partition: 1}})
	_, err := recording.Replay(t.Context(), t.Context(), path, recording.ReplayOptions{Client: client})
	if err == nil || !strings.Contains(err.Error(), "narrow has 1 partitions and the recording needs 2") {
		t.Errorf("got %v", err)
	}
	if cluster.TopicInfo("missing") != nil {
		t.Error("a topic was made although the replay was refused")
	}
}

func TestAbortedTransactionsAreNotRecorded(t *testing.T) {
	cluster, client := broker(t)
	cl, err := kgo.NewClient(append(client, kgo.TransactionalID("x"))...)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	// The log ends with a marker, which no committed reader is shown: in one
	// topic behind records that count, in the other behind records that do not.
	for topic, values := range map[string][]string{"ends-aborted": {"kept", "aborted"}, "ends-kept": {"aborted", "kept"}} {
		if err := cluster.CreateTopic(topic, 1, nil); err != nil {
			t.Fatal(err)
		}
		for _, value := range values {
			if err := cl.BeginTransaction(); err != nil {
				t.Fatal(err)
			}
			if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte(value)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
			if err := cl.EndTransaction(t.Context(), kgo.TransactionEndTry(value == "kept")); err != nil {
				t.Fatal(err)
			}
		}
		got := capture(t, filepath.Join(t.TempDir(), "r.jsonl"), map[string][]int32{topic: {0}}, client)
		if len(got) != 1 || string(got[0].Value) != "kept" {
			t.Errorf("%s: recorded %v, want the committed record alone", topic, got)
		}
	}
}

func TestFollowingEndsOnlyWhenStopped(t *testing.T) {
	cluster, client := broker(t)
	if err := cluster.CreateTopic("t", 1, nil); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := recording.NewWriter(&out)
	stop, end := context.WithCancel(t.Context())
	path := filepath.Join(t.TempDir(), "r.jsonl")
	writeAll(t, path, []recording.Record{{Topic: "t", Value: []byte("late")}})
	replayed := make(chan error, 1)
	go func() {
		_, err := recording.Replay(t.Context(), t.Context(), path, recording.ReplayOptions{Client: client})
		replayed <- err
	}()
	err := recording.Capture(t.Context(), stop, w, recording.CaptureOptions{
		Partitions: map[string][]int32{"t": {0}}, Follow: true, Client: client,
		Progress: func(done, _ int64) {
			if done == 1 {
				end()
			}
		},
	})
	if err != nil || w.Records() != 1 {
		t.Errorf("%d records, %v; want the one that came after the start", w.Records(), err)
	}
	if err := <-replayed; err != nil {
		t.Error(err)
	}
}

func TestStoppedWorkIsNotTakenForDone(t *testing.T) {
	cluster, client := broker(t)
	if err := cluster.CreateTopic("full", 1, nil); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "r.jsonl")
	writeAll(t, path, []recording.Record{{Topic: "full"}, {Topic: "full", Offset: 1}})
	stop, end := context.WithCancel(t.Context())
	_, err := recording.Replay(t.Context(), stop, path, recording.ReplayOptions{
		Client: client, Progress: func(int64, int64) { end() },
	})
	if !errors.Is(err, recording.ErrStopped) {
		t.Errorf("replay stopped after its first record: %v", err)
	}
	err = recording.Capture(t.Context(), stop, recording.NewWriter(&bytes.Buffer{}), recording.CaptureOptions{
		Partitions: map[string][]int32{"full": {0}}, Client: client,
	})
	if !errors.Is(err, recording.ErrStopped) {
		t.Errorf("capture stopped before its end: %v", err)
	}
}
