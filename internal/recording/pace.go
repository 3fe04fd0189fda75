package recording

import (
	"context"
	"time"
)

// pace spreads records over time: the n-th is due n/rate seconds after the
// first. A rate of 0 does not wait.
type pace struct {
	rate  float64
	begun time.Time
}

// wait returns when record n (from 0) is due, or with the context's cause.
func (p *pace) wait(ctx context.Context, n int64) error {
	if p.rate <= 0 {
		return nil
	}
	if n == 0 {
		p.begun = time.Now()
	}
	due := time.Until(p.begun.Add(time.Duration(float64(n) / p.rate * float64(time.Second))))
	if due <= 0 {
		return nil
	}
	timer := time.NewTimer(due)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
