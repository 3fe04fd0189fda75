package flows

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/internal/archive"
	"flowgraph/internal/recording"
	"flowgraph/stages"
)

// away is a source that answers only when it is there.
type away struct {
	there atomic.Bool
	asked atomic.Int64
}

func (a *away) Given(_ context.Context, collection int64) (*stages.Given, error) {
	a.asked.Add(1)
	if !a.there.Load() {
		return nil, fmt.Errorf("%w: it is not there", stages.ErrNoAnswer)
	}
	return &stages.Given{Schema: schema(), Name: "docs", Partitions: map[int64]string{4711: "empty"}}, nil
}

// A Milvus that is away is not a failure of the worker, however long it takes.
func TestAVChannelWaitsForTheSourceOfItsSchemaWhileOthersRun(t *testing.T) {
	w := newWorld(t, 2)
	w.produce(0, insert(7, 1, 10))
	w.produce(1, createCollection(collectionID), insert(8, 100, 10))
	source := &away{}
	l := w.startWith(func(w *Worker) { w.patience.fails = 2 }, func(c *Config) { c.Schemas = source }).until(1, 2)
	until(t, "it was asked more often than a flow may fail", func() bool { return source.asked.Load() > 4 })
	if s := l.has(0, "waiting"); !strings.Contains(s.Error, "it is not there") {
		t.Errorf("the error is %q", s.Error)
	}
	source.there.Store(true)
	l.until(0, 1)
	l.stop()
	// The document knows the schema that no record has.
	report, err := archive.Verify(t.Context(), w.bucket, archive.VerifyOptions{
		Log:      recording.CaptureOptions{Client: []kgo.Opt{kgo.SeedBrokers(w.addr)}, Partitions: map[string][]int32{topic: {0, 1}}},
		TopicIDs: map[string]string{topic: w.document(0).TopicID}, Complete: true, Dir: t.TempDir(),
	})
	if err != nil || report.Err() != nil {
		t.Errorf("%v\n%s", err, report)
	}
	c := w.document(0).Collections[collectionID]
	if c == nil || c.Name != "docs" || c.Partitions[4711] == nil {
		t.Errorf("the document has %+v", c)
	}
}
