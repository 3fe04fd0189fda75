package recording

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheRateIsOverTheWholeReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		p := pace{rate: 200}
		for n := range int64(1001) {
			if err := p.wait(t.Context(), n); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("1001 records at 200 a second took %v of the clock, want 5s", took)
		}
	})
}

func TestASlowReplayCanBeStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("stop")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, why)
		defer cancel()
		p := pace{rate: 0.001}
		if err := p.wait(ctx, 0); err != nil {
			t.Fatal(err)
		}
		if err := p.wait(ctx, 1); !errors.Is(err, why) {
			t.Errorf("got %v", err)
		}
	})
}
