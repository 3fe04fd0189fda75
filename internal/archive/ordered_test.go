package archive

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
)

var errOdd = errors.New("odd")

func TestResultsComeInOrderAndNothingIsLeftRunning(t *testing.T) {
	items := make([]int, 100)
	for i := range items {
		items[i] = i
	}
	var running, most atomic.Int64
	do := func(_ context.Context, n int) (int, error) {
		now := running.Add(1)
		for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
		}
		defer running.Add(-1)
		if n%2 == 1 {
			return 0, errOdd
		}
		return n * 10, nil
	}
	var got []int
	odd := 0
	for v, err := range ordered(t.Context(), 7, each(items), do) {
		if err != nil {
			odd++
			continue
		}
		got = append(got, v)
		if len(got) == 20 {
			break
		}
	}
	if running.Load() != 0 {
		t.Errorf("%d calls still run", running.Load())
	}
	if most.Load() > 7 {
		t.Errorf("%d calls at a time, allowed are 7", most.Load())
	}
	if !slices.IsSorted(got) || got[19] != 380 || odd != 19 {
		t.Errorf("%v, %d odd", got, odd)
	}
}

func TestAListingThatFailsComesBehindWhatItGave(t *testing.T) {
	broken := func(yield func(int, error) bool) {
		_ = yield(1, nil) && yield(2, nil) && yield(0, errOdd)
	}
	var got []int
	var failed error
	for v, err := range ordered(t.Context(), 4, broken, func(_ context.Context, n int) (int, error) { return n, nil }) {
		if failed = err; err == nil {
			got = append(got, v)
		}
	}
	if !slices.Equal(got, []int{1, 2}) || !errors.Is(failed, errOdd) {
		t.Errorf("%v, %v", got, failed)
	}
}
