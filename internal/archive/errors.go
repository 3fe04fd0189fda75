package archive

import "errors"

// Errors to be tested with errors.Is.
var (
	// ErrDamaged: an object does not hold what the document says of it.
	ErrDamaged = errors.New("damaged archive")
	// ErrNotExact: the bucket does not hold what was produced, each once.
	ErrNotExact = errors.New("the bucket is not exact")
	// ErrNoCollection: there is no such collection or partition at the moment,
	// or more than one.
	ErrNoCollection = errors.New("no such collection")
)
