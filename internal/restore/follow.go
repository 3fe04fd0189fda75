package restore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"flowgraph/internal/milvus"
)

// adopt finds out what became of an import that an earlier run asked for
// without learning its task: that run broke off in between. Sending it again
// would double its rows.
func (r *run) adopt(ctx context.Context) error {
	var open []int
	for i, s := range r.journal.Imports {
		if s.Asked && s.Task == 0 && !s.Done {
			open = append(open, i)
		}
	}
	if len(open) == 0 {
		return nil
	}
	tasks, err := r.o.Milvus.Tasks(ctx, r.o.Target)
	if err != nil {
		return err
	}
	slices.SortFunc(tasks, func(x, y milvus.Task) int { return cmp.Compare(y.ID, x.ID) }) // the newest first
	for _, i := range open {
		for _, task := range tasks {
			if r.journal.knows(task.ID) || !task.Reads(r.o.Stage.Path(r.batchPrefix(i))) {
				continue
			}
			if err := r.journal.change(ctx, func() { r.journal.Imports[i].Task = task.ID }); err != nil {
				return err
			}
			break
		}
		if r.journal.Imports[i].Task == 0 {
			if err := r.forgotten(ctx, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// forgotten decides about an import that Milvus does not list: it was never
// asked for, or it was done so long ago that Milvus has forgotten it (2.4 and
// later after three hours). Then its rows are there.
func (r *run) forgotten(ctx context.Context, i int) error {
	name := r.plan.batches[i].partition
	for j, s := range r.journal.Imports { // whose rows are there must be known
		if j != i && s.Task != 0 && !s.Done && r.plan.batches[j].partition == name {
			if err := r.importOne(ctx, j); err != nil {
				return err
			}
		}
	}
	counts, err := r.counts(ctx)
	if err != nil {
		return err
	}
	more := counts[name] - r.journal.Before[name]
	for j, s := range r.journal.Imports {
		if s.Done && r.plan.batches[j].partition == name {
			more -= s.Rows
		}
	}
	return r.journal.change(ctx, func() {
		if s := r.journal.Imports[i]; more > 0 {
			s.Done, s.Rows = true, more
		} else {
			s.Asked = false
		}
	})
}

// importOne follows one import, asking for it if it was not asked for, or if it
// failed in an earlier run: a Milvus that restarts fails what it was at.
func (r *run) importOne(ctx context.Context, i int) error {
	s := r.journal.Imports[i]
	for earlier := s.Task != 0; !s.Done; earlier = false {
		if s.Task == 0 {
			if err := r.ask(ctx, i); err != nil {
				return err
			}
		}
		state, err := r.follow(ctx, i, s.Task)
		if err != nil {
			return err
		}
		if !state.Failed {
			if err := r.journal.change(ctx, func() { s.Done, s.Rows = true, state.Rows }); err != nil {
				return err
			}
			break
		}
		err = fmt.Errorf("%w: task %d, partition %s: %s", ErrImport, s.Task, r.plan.batches[i].partition, state.Reason)
		stored := r.journal.change(ctx, func() { s.Asked, s.Task, s.Failed = false, 0, append(s.Failed, s.Task) })
		if !earlier || stored != nil {
			return errors.Join(err, stored)
		}
	}
	r.imported(i, 100)
	return nil
}

// ask asks for one import. That it is going to is stored before, and its task
// after; one at a time, so that a run that breaks off leaves at most one of
// which the task is not known.
func (r *run) ask(ctx context.Context, i int) error {
	r.asking.Lock()
	defer r.asking.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s, b := r.journal.Imports[i], r.plan.batches[i]
	if err := r.unchanged(ctx, i); err != nil {
		return err
	}
	if err := r.journal.change(ctx, func() { s.Asked = true }); err != nil {
		return err
	}
	// A request that is given up may still be done: its answer is waited for,
	// also when another import has failed or the restore is to end.
	ctx = context.WithoutCancel(ctx)
	end, _ := r.plan.end()
	prefix, first := r.batchPrefix(i), b.segments[0]
	task, err := r.o.Milvus.ImportBinlogs(ctx, r.o.Target, b.partition,
		r.rowsAt(i), r.o.Stage.Path(deletes(prefix, first)), end)
	if err != nil {
		return err
	}
	return r.journal.change(ctx, func() { s.Task = task })
}

// follow looks at an import until it has ended.
func (r *run) follow(ctx context.Context, i int, task int64) (milvus.Imported, error) {
	failures, still, last := 0, 0, int64(-1)
	for {
		state, err := r.o.Milvus.State(ctx, task)
		switch {
		case err == nil && (state.Done || state.Failed):
			return state, nil
		case err == nil:
			if failures, still = 0, still+1; state.Percent != last {
				still, last = 0, state.Percent
			}
			if still == 2*r.o.Patience && r.o.Stuck != nil {
				r.o.Stuck(task, r.plan.batches[i].partition)
			}
			r.imported(i, state.Percent)
		default:
			if failures++; failures >= r.o.Patience || ctx.Err() != nil {
				return state, err
			}
		}
		if err := pause(ctx, r.o.Every); err != nil {
			return milvus.Imported{}, err
		}
	}
}

// imported tells how far all imports are.
func (r *run) imported(i int, percent int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done[i] = stored(r.plan.batches[i]) * min(max(percent, 0), 100) / 100
	var sum int64
	for _, n := range r.done {
		sum += n
	}
	r.tell("rows imported", sum, r.total)
}
