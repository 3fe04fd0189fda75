package archive

import (
	"errors"
	"fmt"
)

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

// noCollectionError is a sentence of its own that counts as ErrNoCollection.
type noCollectionError string

func noCollection(format string, args ...any) error {
	return noCollectionError(fmt.Sprintf(format, args...))
}

func (e noCollectionError) Error() string        { return string(e) }
func (e noCollectionError) Is(target error) bool { return target == ErrNoCollection }
