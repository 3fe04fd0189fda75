package export

import "errors"

// Errors to be tested with errors.Is.
var (
	// ErrUnsupported: a field's type has no column.
	ErrUnsupported = errors.New("cannot be exported")
	// ErrValue: a value does not fit its field.
	ErrValue = errors.New("a value does not fit its field")
	// ErrExists: the folder to make is there already.
	ErrExists = errors.New("is there already")
)
