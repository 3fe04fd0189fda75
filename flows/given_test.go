package flows

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

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
	c := w.document(0).Collections[collectionID]
	if c == nil || c.Name != "docs" || c.Partitions[4711] == nil {
		t.Errorf("the document has %+v", c)
	}
}
