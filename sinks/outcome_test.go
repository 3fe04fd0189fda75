package sinks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"flowgraph/checkpoints"
)

// A store's own codes are without number; a metric's label must not be.
func TestWhateverAStoreSaysIsOneOfAFewOutcomes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want Outcome
	}{
		{nil, OK},
		{fmt.Errorf("%w: %w", checkpoints.ErrNotExist, &answer{code: "NoSuchKey", status: 404}), Absent},
		{fmt.Errorf("%w: other bytes", checkpoints.ErrConflict), Conflict},
		{&answer{code: "PreconditionFailed", status: 412}, Conflict},
		{&answer{code: "ConditionalRequestConflict", status: 409}, Conflict},
		{&answer{code: "AccessDenied", status: 403}, Refused},
		{&answer{code: "NoSuchBucket", status: 404}, Refused},
		{&answer{code: "NotImplemented", status: 501}, Refused},
		{&answer{code: "WordsOfNoOtherStore", status: 400}, Refused},
		{&answer{code: "WordsOfNoOtherStore", status: 599}, Unavailable},
		{&answer{code: "SlowDown", status: 503}, Throttled},
		{&answer{code: "429 Too Many Requests", status: 429}, Throttled},
		{&answer{code: "XMinioStorageFull", status: 507}, Unavailable},
		{&answer{code: "ExpiredToken", status: 400}, Unavailable},
		{&answer{code: "RequestTimeout", status: 400}, Timeout},
		{fmt.Errorf("%w (30s)", errSlow), Timeout},
		{errors.New("connection reset by peer"), Unreachable},
		{fmt.Errorf("put: %w", context.Canceled), Canceled},
	} {
		got := outcome(c.err)
		if got != c.want {
			t.Errorf("%v: %s, want %s", c.err, got, c.want)
		}
		if !slices.Contains(Outcomes, got) {
			t.Errorf("%s is not in the list", got)
		}
	}
}

// Who counts requests by what came of them must also see each that is tried
// again, and why.
func TestEveryTryAgainIsToldWithItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		b := waitingBucket(t, &log)
		var told []string
		b.hooks.Retry = func(op string, why Outcome) { told = append(told, op+" "+string(why)) }
		errs := []error{&answer{code: "SlowDown", status: 503}, errors.New("connection refused"), nil}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := retry(ctx, b, &task{op: "get", key: "k", waits: forever}, func(context.Context) (int, error) {
			err := errs[0]
			errs = errs[1:]
			return 0, err
		}); err != nil {
			t.Fatal(err)
		}
		if want := []string{"get throttled", "get unreachable"}; !slices.Equal(told, want) {
			t.Errorf("told %v, want %v", told, want)
		}
	})
}
