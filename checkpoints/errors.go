package checkpoints

import "errors"

// Errors of this package beside those of a Bucket, to be tested with errors.Is.
var (
	// ErrInvalid: what is stored cannot be a document, manifest, chunk or
	// event; the vchannel stops by name and never starts afresh.
	ErrInvalid = errors.New("invalid checkpoint data")
	// ErrNewerVersion: written by a newer release.
	ErrNewerVersion = errors.New("written by a newer version of the format")
	// ErrTopicRecreated: the stored positions belong to another log.
	ErrTopicRecreated = errors.New("the topic was created anew since these positions were stored")
	// ErrDocumentLost: the vchannel had a document once and has none now.
	ErrDocumentLost = errors.New("the checkpoint document is gone")
	// ErrOlder: manifests or DDL events show that the document is not the last
	// one there was; going on from it would store rows again.
	ErrOlder = errors.New("the checkpoint document is older than what lies around it")
	// ErrIncomplete: the bucket lacks manifests of segments that have left the
	// document: their rows would be missing for ever.
	ErrIncomplete = errors.New("segments that have left the checkpoint document are missing")
	// ErrEpoch: no more epochs can be named.
	ErrEpoch = errors.New("epoch is out of range")
	// ErrFenced: another owner has claimed the vchannel; nothing more of this
	// owner is written.
	ErrFenced = errors.New("another owner has claimed this vchannel")
	// ErrBackwards: a commit would lower what is stored. It is a bug, found
	// before the put.
	ErrBackwards = errors.New("commit would move back")
	// ErrForward: a rewind does not skip.
	ErrForward = errors.New("a rewind cannot go forward")
	// ErrSameLog: there is no new log to accept.
	ErrSameLog = errors.New("the topic is the same as before")
	// ErrChange: a change contradicts the document it enters. It is a bug,
	// found before it is stored.
	ErrChange = errors.New("change contradicts the document")
)
