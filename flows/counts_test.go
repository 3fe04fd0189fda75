package flows

import (
	"context"
	"encoding/base64"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"flowgraph/checkpoints"
	"flowgraph/internal/membucket"
	"flowgraph/sinks"
	"flowgraph/stages"
	"flowgraph/stages/column"
)

// flowAlone is a flow without a worker that reads a log of these values to its
// end, in batches as a fetch gives them.
func flowAlone(m *membucket.Bucket, limits stages.Limits, values [][]byte) *Flow {
	pool, budget, slabs := &column.Pool{}, NewBudget(1<<30), &stages.Slabs{}
	f := NewFlow(checkpoints.VChannel{Topic: topic, TopicID: "id"}, &Shared{
		Sink: sinks.NewShared(m, pool, 2, 4), Pace: checkpoints.NewPace(), Budget: budget, Claims: make(chan struct{}, 1),
		Buffer: stages.BufferConfig{Limits: limits, Pool: pool}, Options: checkpoints.DefaultOptions(),
		Metrics: NewMetrics(prometheus.NewRegistry(), budget), Log: zerolog.Nop(),
	})
	f.Bounds = func(context.Context) (int64, int64, error) { return 0, int64(len(values)), nil }
	f.Until = int64(len(values))
	f.Ready = func(from checkpoints.Position, box *Mailbox) {
		for offset := int(from.Offset); offset < len(values); {
			raw := slabs.Raw(0)
			for raw.Bytes < batchBytes && offset < len(values) {
				raw.Add(stages.Record{Offset: int64(offset), Value: values[offset]})
				raw.Bytes += int64(len(values[offset])) + recordOverhead
				offset++
			}
			box.Put(raw)
		}
	}
	return f
}

// standardRun takes messages of one row of about a kilobyte each through a
// whole flow, and returns the bucket and how
// many allocations a message cost from the mailbox to the last commit.
func standardRun(t *testing.T, messages, segments int, flushBytes int64) (*membucket.Bucket, float64) {
	random := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 750)
	values := [][]byte{createCollection(collectionID)}
	for i := range messages {
		for j := range text {
			text[j] = byte(random.Uint32())
		}
		value := insert(int64(1000+i*segments/messages), int64(i+1), 1000)
		copy(value[strings.Index(string(value), "xxxx"):], base64.StdEncoding.EncodeToString(text))
		if values = append(values, value); i%50 == 0 {
			values = append(values, tick(int64(i+1)))
		}
	}
	m := membucket.New()
	limits := stages.DefaultLimits()
	limits.FlushBytes = flushBytes
	f := flowAlone(m, limits, values)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := f.Run(t.Context(), t.Context()); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	return m, float64(after.Mallocs-before.Mallocs) / float64(len(values))
}

// bytesOf sums what was put under a prefix.
func bytesOf(m *membucket.Bucket, prefix string) (puts int, bytes int64) {
	for _, c := range m.Calls(membucket.Put, prefix) {
		puts, bytes = puts+1, bytes+int64(len(c.Data))
	}
	return puts, bytes
}

// These numbers are the same on every machine.
func TestARunCostsTheStoreNoMorePutsAndTheWorkerNoMoreAllocations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const messages, segments, flushBytes = 12_000, 3, 2 << 20
		m, allocations := standardRun(t, messages, segments, flushBytes)
		logs, data := bytesOf(m, "insert_log/")
		stats, _ := bytesOf(m, "stats_log/")
		documents, written := bytesOf(m, "checkpoints/")
		all, _ := bytesOf(m, "")
		t.Logf("%d puts (%d logs, %d statistics, %d documents), %d bytes of data, %d of documents, %.2f allocations a message",
			all, logs, stats, documents, data, written, allocations)
		// 4 MB in each of three segments: a full flush, and the rest when the log ends.
		const flushes, fields = 2 * segments, 4
		if logs != flushes*fields || stats != flushes {
			t.Errorf("%d logs and %d statistics, want %d flushes of %d fields", logs, stats, flushes, fields)
		}
		if written*100 > data {
			t.Errorf("documents are %d bytes beside %d bytes of data: more than 1 %%", written, data)
		}
		if documents > flushes+2 || all > logs+stats+documents+segments+2 {
			t.Errorf("%d documents, %d puts in all", documents, all)
		}
		if allocations > 0.5 {
			t.Errorf("%.2f allocations a message, want far less than one", allocations)
		}
	})
}
