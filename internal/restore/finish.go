package restore

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// compare counts the rows in Milvus, which may take a moment to show them.
func (r *run) compare(ctx context.Context) (*Result, error) {
	for tries := 1; ; tries++ {
		counts, err := r.counts(ctx)
		if err != nil {
			return nil, err
		}
		result := &Result{Rows: map[string]int64{}}
		var errs []error
		for _, p := range r.plan.Partitions {
			n := counts[p.Name] - r.journal.Before[p.Name]
			result.Rows[p.Name], result.Total = n, result.Total+n
			if n != p.Rows {
				errs = append(errs, fmt.Errorf("%w: partition %s has %d restored rows, the archive %d", ErrRows, p.Name, n, p.Rows))
			}
		}
		if len(errs) == 0 {
			return result, nil
		}
		if tries >= r.o.Patience {
			return nil, errors.Join(errs...)
		}
		if err := pause(ctx, r.o.Every); err != nil {
			return nil, err
		}
	}
}

// clean removes what was staged, the journal last.
func (r *run) clean(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(copies)
	for info, err := range r.o.Stage.List(gctx, r.prefix) {
		if err != nil {
			return errors.Join(err, g.Wait())
		}
		if info.Key != r.prefix+journalKey {
			g.Go(func() error { return r.o.Stage.Remove(gctx, info.Key) })
		}
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("remove what was staged: %w", err)
	}
	return r.o.Stage.Remove(ctx, r.prefix+journalKey)
}
