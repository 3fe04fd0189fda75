package archive

import (
	"context"
	"iter"
	"sync"
)

// ordered yields do of every item, in the items' order, with at most limit of
// them under way. An error of do is yielded in its place and the rest follows
// for a caller who goes on; one of the items' own ends the sequence. It
// returns when all calls of do have.
func ordered[T, U any](ctx context.Context, limit int, items iter.Seq2[T, error], do func(context.Context, T) (U, error)) iter.Seq2[U, error] {
	type result struct {
		value U
		err   error
	}
	return func(yield func(U, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		var queue []chan result
		next := func() bool {
			r := <-queue[0]
			queue = queue[1:]
			return yield(r.value, r.err)
		}
		var ended error
		for item, err := range items {
			if ended = err; err != nil {
				break
			}
			if len(queue) == limit && !next() {
				return
			}
			reply := make(chan result, 1) // nobody waits for the result of one that was given up
			queue = append(queue, reply)
			wg.Go(func() {
				v, err := do(ctx, item)
				reply <- result{v, err}
			})
		}
		for len(queue) > 0 {
			if !next() {
				return
			}
		}
		if ended != nil {
			var none U
			yield(none, ended)
		}
	}
}
