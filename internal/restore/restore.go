package restore

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"flowgraph/checkpoints"
	"flowgraph/internal/milvus"
)

// imports is how many Milvus works on at a time.
const imports = 4

// Options of a restore.
type Options struct {
	Milvus  *milvus.Client
	Archive checkpoints.Bucket
	Stage   Stage
	Target  string // name of the collection in Milvus
	// Here is the key that an object of the archive has in Milvus' bucket; nil
	// if the archive is in another one.
	Here func(key string) string
	// Quiet says that no worker writes to the collection meanwhile.
	Quiet bool
	// AcceptNewKeys lets keys that Milvus makes be replaced.
	AcceptNewKeys bool
	// WithoutFunctions leaves functions whose results are not in the log out of
	// the collection, with their fields.
	WithoutFunctions bool
	// AddRows lets rows be added to a collection that has some.
	AddRows bool
	// Every is the pause between two looks at an import, and between two
	// counts of rows.
	Every time.Duration
	// Patience is how often in a row a look may fail, and how often rows are
	// counted before their number is taken for wrong.
	Patience int
	// Progress, which may be nil, is told how far the restore is. What is
	// counted changes from flushes staged to rows imported. It is not called
	// by two goroutines at a time.
	Progress func(what string, done, total int64)
	// Stuck, which may be nil, is told once of an import that has not moved for
	// twice as many looks as Patience. Milvus may still do it.
	Stuck func(task int64, partition string)
}

// Result of a restore.
type Result struct {
	Rows    map[string]int64 // restored, by partition
	Total   int64
	Resumed bool // an earlier run had begun it
	InPlace int  // imports that read the archive itself
	Moved   int  // fields whose files were written anew under another ID
}

// run is one restore on its way.
type run struct {
	o       Options
	plan    *Plan
	prefix  string // of everything that is staged
	journal *journal
	moved   map[int64]int64 // IDs of fields in the target, where they are others than in the archive

	asking sync.Mutex // held while Milvus is asked for an import

	mu    sync.Mutex
	done  []int64 // rows, by import
	total int64
}

// Prefix is where a restore into a collection stages everything.
func Prefix(database, target string) string {
	return cmp.Or(database, "default") + "/" + target + "/"
}

// Unfinished returns the moment of a restore into the collection that has
// begun and not ended, 0 if there is none: it must be made for that moment
// again to go on.
func Unfinished(ctx context.Context, stage Stage, database, target string) (until uint64, err error) {
	j, err := loadJournal(ctx, stage, Prefix(database, target))
	if j == nil {
		return 0, err
	}
	return j.Until, nil
}

// Run brings the plan's rows into Milvus and compares their number. After an
// error the same call goes on where it broke off. What was staged is removed
// when all is done.
func Run(ctx context.Context, p *Plan, o Options) (*Result, error) {
	r := &run{o: o, plan: p, prefix: Prefix(o.Milvus.Database(), o.Target), done: make([]int64, len(p.batches))}
	for _, b := range p.batches {
		r.total += stored(b)
	}
	id, err := r.target(ctx)
	if err != nil {
		return nil, err
	}
	resumed, err := r.begin(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := r.decide(ctx); err != nil {
		return nil, err
	}
	if err := r.stageSome(ctx, r.unstaged()); err != nil { // what an earlier run has not
		return nil, err
	}
	if err := r.adopt(ctx); err != nil {
		return nil, err
	}
	if err := r.importAll(ctx); err != nil {
		return nil, err
	}
	result, err := r.compare(ctx)
	if err != nil {
		return nil, err
	}
	result.Resumed, result.InPlace, result.Moved = resumed, r.inPlaces(), len(r.moved)
	if err := r.clean(ctx); err != nil {
		return nil, fmt.Errorf("all %d rows are restored into %s, but %w: %w", result.Total, o.Target, ErrLeft, err)
	}
	return result, nil
}

func stored(b batch) (n int64) {
	for _, s := range b.segments {
		for _, f := range s.Flushes {
			n += f.Rows
		}
	}
	return n
}

// begin takes up the journal of an earlier run, or begins one.
func (r *run) begin(ctx context.Context, id int64) (resumed bool, err error) {
	j, err := loadJournal(ctx, r.o.Stage, r.prefix)
	if err != nil {
		return false, err
	}
	if j != nil && j.TargetID != id { // its target was dropped, and all that it had brought
		if err := r.clean(ctx); err != nil {
			return false, err
		}
		j = nil
	}
	if j != nil {
		if j.Collection != r.plan.Live.Collection || j.Until != r.plan.Live.Until || j.Plan != r.plan.digest() {
			return false, fmt.Errorf("%w: one of collection %d as of timestamp %d, begun earlier, is not finished: run it again as it was, or drop %s first",
				ErrUnderWay, j.Collection, j.Until, r.o.Target)
		}
		r.journal = j
		return true, nil
	}
	before, err := r.counts(ctx)
	if err != nil {
		return false, err
	}
	for name, n := range before {
		if n > 0 && !r.o.AddRows {
			return false, fmt.Errorf("%w: partition %s of collection %s has %d", ErrOccupied, name, r.o.Target, n)
		}
	}
	r.journal = &journal{
		Version: 1, Collection: r.plan.Live.Collection, Until: r.plan.Live.Until, Plan: r.plan.digest(),
		Target: r.o.Target, TargetID: id, Before: before, stage: r.o.Stage, key: r.prefix + journalKey,
	}
	for range r.plan.batches {
		r.journal.Imports = append(r.journal.Imports, &step{})
	}
	return false, r.journal.change(ctx, func() {})
}

// stageSome stages batches.
func (r *run) stageSome(ctx context.Context, which []int) error {
	var flushes, done int64
	for _, i := range which {
		for _, s := range r.plan.batches[i].segments {
			flushes += int64(len(s.Flushes))
		}
	}
	st := &stager{plan: r.plan, moved: r.moved, archive: r.o.Archive, stage: r.o.Stage, staged: func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		done++
		r.tell("flushes staged", done, flushes)
	}}
	for _, i := range which {
		if err := st.batch(ctx, r.batchPrefix(i), r.plan.batches[i], !r.journal.Imports[i].InPlace); err != nil {
			return err
		}
		if err := r.journal.change(ctx, func() { r.journal.Imports[i].Staged = true }); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) batchPrefix(i int) string { return fmt.Sprintf("%s%d/", r.prefix, i) }

func (r *run) tell(what string, done, total int64) {
	if r.o.Progress != nil {
		r.o.Progress(what, done, total)
	}
}

// importAll lets Milvus work on a few imports at a time.
func (r *run) importAll(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(imports)
	for i := range r.plan.batches {
		g.Go(func() error { return r.importOne(ctx, i) })
	}
	return g.Wait()
}

// pause waits, or returns why the context ended.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
