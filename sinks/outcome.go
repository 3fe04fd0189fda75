package sinks

import (
	"context"
	"errors"

	"flowgraph/checkpoints"
)

// Outcome is how a request ended, for metrics: a set that stays small, whatever
// words a store finds for its errors.
type Outcome string

const (
	OK          Outcome = "ok"
	Absent      Outcome = "absent"      // there is no such object; often the answer that was hoped for
	Conflict    Outcome = "conflict"    // a condition failed: somebody else was first, or a reply was lost
	Refused     Outcome = "refused"     // the store answered and will not do it
	Throttled   Outcome = "throttled"   // asked too often
	Unavailable Outcome = "unavailable" // 5xx, storage full, keys or clocks that somebody has to set right
	Timeout     Outcome = "timeout"
	Unreachable Outcome = "unreachable" // no answer
	Canceled    Outcome = "canceled"    // by this program
)

// Outcomes lists all of them, and Operations all that requests may be.
var (
	Outcomes   = []Outcome{OK, Absent, Conflict, Refused, Throttled, Unavailable, Timeout, Unreachable, Canceled}
	Operations = []string{"put", "get", "stat", "list", "remove", "copy"}
)

// outcome sorts an error as judge does, in more kinds.
func outcome(err error) Outcome {
	var a *answer
	switch {
	case err == nil:
		return OK
	case errors.Is(err, errSlow):
		return Timeout
	case errors.Is(err, checkpoints.ErrNotExist):
		return Absent
	case errors.Is(err, checkpoints.ErrConflict):
		return Conflict
	case !errors.As(err, &a):
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return Canceled
		}
		return Unreachable
	case throttles(a):
		return Throttled
	case a.status == 409, a.status == 412:
		return Conflict
	case a.status == 408, a.status == 499, a.code == "RequestTimeout":
		return Timeout
	case judge(err) == wait:
		return Unavailable
	}
	return Refused
}

func throttles(a *answer) bool {
	switch a.code {
	case "SlowDown", "SlowDownRead", "SlowDownWrite", "Throttling", "ThrottlingException",
		"RequestLimitExceeded", "RequestThrottled", "TooManyRequests", "BandwidthLimitExceeded":
		return true
	}
	return a.status == 429
}
