package flows

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/reugn/go-streams"
	"github.com/reugn/go-streams/flow"
)

// lift makes a stage's Step a go-streams operator. On an error, or a panic,
// it ends the run with its cause before it returns nothing, so that no later
// batch can pass a failed one; after that, and after a kill, it only drains.
func lift[I, O any](r *run, name string, step func(context.Context, *I) ([]*O, error)) streams.Flow {
	return flow.NewFlatMap(func(in *I) (out []*O) {
		defer func() {
			if p := recover(); p != nil {
				r.fail(fmt.Errorf("%s: panic: %v\n%s", name, p, debug.Stack()))
				out = nil
			}
		}()
		if r.ctx.Err() != nil {
			return nil
		}
		out, err := step(r.ctx, in)
		if err != nil {
			r.fail(fmt.Errorf("%s: %w", name, err))
			return nil
		}
		return out
	}, 1)
}
