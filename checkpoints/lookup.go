package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// SegmentRef is where a segment is said to be.
type SegmentRef struct{ Collection, Partition, Segment int64 }

// Known is what the store knows of a segment that the document does not hold:
// Flushed with its End, or New.
type Known struct {
	State State
	End   Position
}

// lookups is how many manifests are asked for at a time.
const lookups = 16

// LookupSegments asks for the manifests of segments that d, a claimed document,
// does not hold. A segment that left the document is Flushed for ever: taken as
// New, its late rows would be written again under the same ID. A manifest of
// another log is Flushed with nothing of this one, one of a log that was cut back
// since with what that has kept. It returns when all are
// answered; no answer is never taken for New.
func LookupSegments(ctx context.Context, b Bucket, d *Document, refs []SegmentRef) (map[int64]Known, error) {
	found := make([]Known, len(refs))
	err := parallel(ctx, lookups, len(refs), func(ctx context.Context, i int) (err error) {
		found[i], err = lookupSegment(ctx, b, d, refs[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	known := make(map[int64]Known, len(refs))
	for i, r := range refs {
		known[r.Segment] = found[i]
	}
	return known, nil
}

func lookupSegment(ctx context.Context, b Bucket, d *Document, r SegmentRef) (Known, error) {
	m, err := LoadManifest(ctx, b, r)
	switch {
	case errors.Is(err, ErrNotExist):
		return Known{State: New}, nil
	case err != nil:
		return Known{}, err
	case m.TopicID != d.TopicID || m.VChannel != d.VChannel:
		return Known{State: Flushed}, nil
	}
	return Known{State: Flushed, End: d.EndOf(&m.Segment)}, nil
}

// parallel calls do for 0..n-1, at most limit at a time, and waits for all of
// them. The first error ends the others' context and is returned.
func parallel(ctx context.Context, limit, n int, do func(context.Context, int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	turns := make(chan struct{}, limit)
	for i := range n {
		select {
		case turns <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil { // the caller's error, not the process' end
					cancel(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
				}
				<-turns
			}()
			if err := do(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}
