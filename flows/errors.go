package flows

import (
	"errors"
	"fmt"

	"flowgraph/checkpoints"
	"flowgraph/stages"
)

// Errors of this package, to be tested with errors.Is.
var (
	// ErrDataLoss: the log no longer holds what must be read, or ends before it.
	ErrDataLoss = errors.New("data loss: the log does not hold the position to read from")
	// ErrCutBack: the log lost its end after that was read, and gives its offsets
	// to other records. It is an ErrDataLoss.
	ErrCutBack = fmt.Errorf("the log was cut back after it was read: %w", ErrDataLoss)
	// ErrUnreadable: the broker's bytes cannot be decoded. On their way they
	// may have been damaged, so it is tried again; a log that holds them stops
	// its vchannel.
	ErrUnreadable = errors.New("what the broker sends cannot be decoded")
	// ErrTooLarge: a batch would take more memory, once decompressed, than the
	// worker may use.
	ErrTooLarge = errors.New("a batch of records is too large")
	// ErrLost: the group has given the partition to somebody else.
	ErrLost = errors.New("the partition was given away")
	// ErrFencedTooOften ends the process.
	ErrFencedTooOften = errors.New("ownership was lost too often")
	// ErrInstanceTaken ends the process.
	ErrInstanceTaken = errors.New("another worker has joined the group with the same instance ID")
	// ErrProtocol ends the process.
	ErrProtocol = errors.New("the group's broker does not know the consumer protocol, which Kafka has since 4.0: use the classic one")
	// ErrFailedTooOften ends the process.
	ErrFailedTooOften = errors.New("a flow failed too often")
	// ErrStopped: a vchannel is stopped until somebody has looked.
	ErrStopped = errors.New("vchannel stopped")
	// ErrGrace: the drain did not end within the grace period.
	ErrGrace = errors.New("the grace period ended before everything was flushed; nothing is lost, the next start reads the rest again")

	errKilled = errors.New("killed")
)

// stops says whether an error waits for an operator: trying again would only
// repeat it, and other vchannels run on.
func stops(err error) bool {
	for _, e := range []error{
		ErrDataLoss, ErrTooLarge, stages.ErrUnknownCollection, stages.ErrBadRecord, stages.ErrEncrypted,
		checkpoints.ErrTopicRecreated, checkpoints.ErrDocumentLost, checkpoints.ErrInvalid,
		checkpoints.ErrOlder, checkpoints.ErrIncomplete,
		checkpoints.ErrNewerVersion, checkpoints.ErrEpoch, checkpoints.ErrBackwards, checkpoints.ErrChange,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
