package recording

import "errors"

// Errors to be tested with errors.Is.
var (
	// ErrNotEmpty: the topic to replay into holds records already.
	ErrNotEmpty = errors.New("the topic is not empty")
	// ErrStopped: the work was stopped before its end.
	ErrStopped = errors.New("stopped before the end")
	// ErrGone: records were deleted from the log before they were read.
	ErrGone = errors.New("records were deleted from the log before they were read")
)
