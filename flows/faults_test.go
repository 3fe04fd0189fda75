package flows

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"flowgraph/checkpoints"
	"flowgraph/internal/membucket"
)

// gate holds calls of the bucket back, as a store that does not answer, until
// it is opened or their context ends.
type gate struct {
	opened  chan struct{}
	once    sync.Once
	waiting atomic.Int64
}

// hold makes calls of an operation on keys with a prefix wait.
func (w *world) hold(op membucket.Op, prefix string) *gate {
	g := &gate{opened: make(chan struct{})}
	w.bucket.Before(func(ctx context.Context, c membucket.Call) error {
		if c.Op != op || !strings.HasPrefix(c.Key, prefix) {
			return nil
		}
		g.waiting.Add(1)
		defer g.waiting.Add(-1)
		select {
		case <-g.opened:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("%s %s: %w", c.Op, c.Key, context.Cause(ctx))
		}
	})
	return g
}

func (g *gate) open() { g.once.Do(func() { close(g.opened) }) }

func (g *gate) waits() bool { return g.waiting.Load() > 0 }

// refuse is a store that answers and will not do it.
func refuse(op membucket.Op, prefix string) membucket.Hook {
	return func(_ context.Context, c membucket.Call) error {
		if c.Op == op && strings.HasPrefix(c.Key, prefix) {
			return fmt.Errorf("%s %s: %w: 403 AccessDenied", c.Op, c.Key, checkpoints.ErrRefused)
		}
		return nil
	}
}
