package sinks

import (
	"context"
	"errors"

	"flowgraph/checkpoints"
)

// verdict says what an error means for the call.
type verdict int

const (
	final  verdict = iota // trying again cannot help
	wait                  // the store is in trouble, or cannot be reached: it will pass
	refuse                // the store answered and will not do it
)

// judge sorts errors. What is not known to pass is a refusal: a commit that is
// refused must not hang for ever.
func judge(err error) verdict {
	if errors.Is(err, checkpoints.ErrNotExist) || errors.Is(err, checkpoints.ErrConflict) {
		return final
	}
	var a *answer
	if !errors.As(err, &a) {
		return wait // no answer: unreachable, broken connection, time-out
	}
	switch {
	case passes(a.code):
		return wait
	case a.status == 408, a.status == 425, a.status == 429, a.status == 499:
		return wait
	case a.status == 409, a.status == 412:
		// Somebody else was in the middle of the same write, or gone again:
		// another object under the key is ErrConflict already.
		return wait
	case a.status == 501, a.status == 505:
		return refuse
	case a.status >= 500:
		return wait
	}
	return refuse
}

// passes lists the codes that mean trouble that passes, whatever their status:
// keys and clocks that somebody is about to set right, and full storage.
func passes(code string) bool {
	switch code {
	case "SlowDown", "SlowDownRead", "SlowDownWrite", "Throttling", "ThrottlingException",
		"RequestLimitExceeded", "RequestThrottled", "TooManyRequests", "BandwidthLimitExceeded",
		"RequestTimeout", "IncompleteBody", "InternalError", "ServiceUnavailable", "ServerBusy", "Busy",
		"RequestTimeTooSkewed",
		"XMinioStorageFull", "XMinioDiskFull", "InsufficientStorage", "QuotaExceeded", "XMinioAdminBucketQuotaExceeded",
		"XMinioServerNotInitialized", "XMinioIAMNotInitialized", "XMinioReadQuorum", "XMinioWriteQuorum":
		return true
	}
	return expired(code)
}

// expired lists the codes of keys that were valid and may be so again.
func expired(code string) bool {
	switch code {
	case "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "InvalidAccessKeyId", "InvalidTokenId", "XAdminUserNotFound":
		return true
	}
	return false
}

// denied lists the codes after which keys that come from outside are read
// again: the ones in use may have been replaced.
func denied(code string) bool {
	return expired(code) || code == "AccessDenied" || code == "SignatureDoesNotMatch" || code == "InvalidToken"
}

// unknown says that a request may or may not have taken effect.
func unknown(err error) bool {
	var a *answer
	if !errors.As(err, &a) {
		return true
	}
	return a.status == 500 || a.status == 502 || a.status == 504 || a.status == 408 || a.status == 499
}

// conditionFailed says that the store found another version than the put
// asked for, or was not sure.
func conditionFailed(err error) bool {
	var a *answer
	if !errors.As(err, &a) {
		return false
	}
	return a.status == 409 || a.status == 412 || errors.Is(err, checkpoints.ErrNotExist)
}

// code is the short name of an error, for the log: the store's own, or why
// there was no answer; "" for none.
func code(err error) string {
	var a *answer
	switch {
	case err == nil:
		return ""
	case errors.As(err, &a):
		return a.code
	case errors.Is(err, errSlow):
		return "timeout"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "canceled"
	}
	return "unreachable"
}
