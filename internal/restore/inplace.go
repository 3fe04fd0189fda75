package restore

import (
	"context"
	"slices"

	"flowgraph/checkpoints"
)

// inPlace says whether an import can read a batch's rows where they lie in the
// archive, so that nothing but the deletes is staged. An import takes all that
// lies under the partition's prefix, so that must be the batch's files and
// nothing else: no later flush, no other segment, no file that a killed worker
// left; and nothing may be added meanwhile, which only a drop, or whoever says
// so, warrants.
func (r *run) inPlace(ctx context.Context, b batch) (bool, error) {
	if r.o.Here == nil || !b.whole || len(r.moved) > 0 {
		return false, nil
	}
	_, cut := r.plan.end()
	want := map[string]bool{}
	for _, s := range b.segments {
		if s.State != checkpoints.Dropped && !r.o.Quiet || s.Resent() || len(r.plan.missing(s)) > 0 || len(s.Fields) != len(r.plan.Live.Fields) {
			return false, nil
		}
		for _, f := range s.Flushes {
			if cut && f.MaxTS > r.plan.Live.Until {
				return false, nil
			}
			for _, id := range s.Fields {
				want[checkpoints.InsertLogKey(s.Collection, s.Partition, s.ID, id, f.ID)] = true
			}
		}
	}
	prefix := inserts("", b.segments[0])
	for info, err := range r.o.Archive.List(ctx, prefix) {
		if err != nil {
			return false, err
		}
		if !want[info.Key] {
			return false, nil
		}
		delete(want, info.Key)
	}
	return len(want) == 0, nil
}

// decide notes of every batch that is not staged yet where its rows are read.
func (r *run) decide(ctx context.Context) error {
	here := map[int]bool{}
	for i, b := range r.plan.batches {
		if s := r.journal.Imports[i]; s.Staged || s.InPlace {
			continue
		}
		is, err := r.inPlace(ctx, b)
		if err != nil {
			return err
		}
		if is {
			here[i] = true
		}
	}
	if len(here) == 0 {
		return nil
	}
	return r.journal.change(ctx, func() {
		for i := range here {
			r.journal.Imports[i].InPlace = true
		}
	})
}

// rowsAt is the prefix of a batch's rows in Milvus' bucket.
func (r *run) rowsAt(i int) string {
	first := r.plan.batches[i].segments[0]
	if r.journal.Imports[i].InPlace {
		return r.o.Here(inserts("", first))
	}
	return r.o.Stage.Path(inserts(r.batchPrefix(i), first))
}

// unchanged makes sure, right before Milvus is asked, that what was to be read
// in place is still all that lies there; else it is staged after all.
func (r *run) unchanged(ctx context.Context, i int) error {
	if !r.journal.Imports[i].InPlace {
		return nil
	}
	is, err := r.inPlace(ctx, r.plan.batches[i])
	if err != nil || is {
		return err
	}
	err = r.journal.change(ctx, func() { r.journal.Imports[i].InPlace, r.journal.Imports[i].Staged = false, false })
	if err != nil {
		return err
	}
	return r.stageSome(ctx, []int{i})
}

// inPlaces is how many imports read the archive itself.
func (r *run) inPlaces() (n int) {
	for _, s := range r.journal.Imports {
		if s.InPlace {
			n++
		}
	}
	return n
}

// unstaged are the batches that still have to be staged.
func (r *run) unstaged() (list []int) {
	for i := range r.plan.batches {
		if !r.journal.Imports[i].Staged {
			list = append(list, i)
		}
	}
	return slices.Clip(list)
}
