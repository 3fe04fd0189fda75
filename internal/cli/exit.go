package cli

import "errors"

// Exit codes of the process.
const (
	ExitDone   = 0
	ExitFailed = 1
	ExitUsage  = 2 // bad usage or configuration
	ExitFenced = 3 // ownership lost too often
)

// Errors that decide the exit code, to be wrapped.
var (
	// ErrUsage: the command line or the configuration is not valid.
	ErrUsage = errors.New("usage")
	// ErrOwnershipLost: other workers took this one's partitions too often.
	ErrOwnershipLost = errors.New("ownership lost too often")
)

// ExitCode is the exit code for what Main returned.
func ExitCode(err error) int {
	switch {
	case err == nil:
		return ExitDone
	case errors.Is(err, ErrUsage):
		return ExitUsage
	case errors.Is(err, ErrOwnershipLost):
		return ExitFenced
	}
	return ExitFailed
}

// usageError keeps the sentence as it is and counts as ErrUsage.
type usageError struct{ cause error }

// Error leaves out the flag that the parser puts before a fault of the file.
func (e usageError) Error() string {
	var fault fileFault
	if errors.As(e.cause, &fault) {
		return fault.Error()
	}
	return e.cause.Error()
}

func (e usageError) Unwrap() error        { return e.cause }
func (e usageError) Is(target error) bool { return target == ErrUsage }
