package stages

import "errors"

// ErrNoAnswer: a source of schemas was asked and did not answer. It may at the
// next try.
var ErrNoAnswer = errors.New("the schema of the collection could not be asked for")

// Errors that stop a vchannel until somebody has looked; to be tested with
// errors.Is.
var (
	// ErrUnknownCollection: rows of a collection whose schema was not seen.
	ErrUnknownCollection = errors.New("no schema of the collection is known")
	// ErrEncrypted: a record whose body only its Milvus can read.
	ErrEncrypted = errors.New("encrypted record")
	// ErrBadRecord: a bad record under the policy that stops at one.
	ErrBadRecord = errors.New("bad record")
)
