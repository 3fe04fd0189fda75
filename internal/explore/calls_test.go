package explore

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"time"

	"flowgraph/checkpoints"
	"flowgraph/internal/membucket"
)

// kind is what happens to one call.
type kind string

const (
	works   kind = ""
	before  kind = "before"  // the process dies before the call has any effect
	after   kind = "after"   // the process dies once it took effect
	refused kind = "refused" // the store will not do it
	slow    kind = "slow"    // the store is in trouble for minutes, then does it
	lost    kind = "lost"    // it took effect; the store says that something else is there
	broken  kind = "broken"  // it took effect; the caller is told of an error that says nothing
	zombie  kind = "zombie"  // it is delayed until after a newer owner's claim
	late    kind = "late"    // it is delayed until a newer owner has drained
)

// kindsOf are the failures of an operation.
func kindsOf(op string) []kind {
	switch op {
	case "put":
		return []kind{before, after, refused, slow, lost, broken, zombie, late}
	case "poll":
		return []kind{before, zombie, late}
	}
	return []kind{before, refused, slow, zombie, late} // a read has no effect
}

var (
	errDead    = errors.New("this process is dead")
	errUsurped = errors.New("another life has its place")
	errBroken  = errors.New("connection reset: a fault put here by the test")
)

// call is a call that leaves the process. Its name is the same in every run
// of a script up to the first failure: the life that makes it, what it does,
// and how often that life has done the same before.
type call struct {
	at   time.Duration // since the script began
	op   string
	name string
}

// calls is the bucket as one life sees it, and everything else that leaves
// its process.
type calls struct {
	life   *life
	bucket *membucket.Bucket
}

var _ checkpoints.Bucket = (*calls)(nil)

// make lets one call happen, or what the plan has for it instead.
func (c *calls) make(ctx context.Context, op, key string, do func() error) error {
	l, w := c.life, c.life.world
	name, fault := l.named(op, key)
	// Calls take different times, so that flushes end in another order than they
	// began in, and no two of them at the same moment: that makes a run the same
	// every time.
	spend := time.Duration(1+hash(name)%40_000_000) * time.Nanosecond
	switch fault {
	case before:
		l.die()
	case slow:
		spend += 3 * time.Minute
	}
	if !l.sleep(ctx, spend) {
		return l.gone(ctx)
	}
	switch fault {
	case refused:
		return fmt.Errorf("%s %s: %w", op, key, checkpoints.ErrRefused)
	case zombie, late:
		w.usurp(l, fault)
		if !l.hold() {
			return l.gone(ctx)
		}
	}
	err := do()
	switch fault {
	case after:
		l.die()
		return errDead
	case lost:
		return fmt.Errorf("%s %s: %w", op, key, checkpoints.ErrConflict)
	case broken:
		return errBroken
	}
	return err
}

func (c *calls) Put(ctx context.Context, key string, o checkpoints.Object, cond checkpoints.Condition) (info checkpoints.Info, err error) {
	err = c.make(ctx, "put", key, func() (err error) {
		info, err = c.bucket.Put(ctx, key, o, cond)
		return err
	})
	return info, err
}

func (c *calls) Get(ctx context.Context, key string) (data []byte, info checkpoints.Info, err error) {
	err = c.make(ctx, "get", key, func() (err error) {
		data, info, err = c.bucket.Get(ctx, key)
		return err
	})
	return data, info, err
}

func (c *calls) Stat(ctx context.Context, key string) (info checkpoints.Info, err error) {
	err = c.make(ctx, "stat", key, func() (err error) {
		info, err = c.bucket.Stat(ctx, key)
		return err
	})
	return info, err
}

func (c *calls) List(ctx context.Context, prefix string) iter.Seq2[checkpoints.Info, error] {
	return func(yield func(checkpoints.Info, error) bool) {
		if err := c.make(ctx, "list", prefix, func() error { return nil }); err != nil {
			yield(checkpoints.Info{}, err)
			return
		}
		c.bucket.List(ctx, prefix)(yield)
	}
}

func hash(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	x := h.Sum64()
	x ^= x >> 33 // names that differ in the last letter differ in all bits
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}
