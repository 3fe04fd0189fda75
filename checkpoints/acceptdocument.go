package checkpoints

import (
	"context"
	"fmt"
)

// Acceptance is how the surroundings of a document are made to agree with it.
type Acceptance struct {
	// Above is the largest epoch that anything in the bucket is of: names drawn
	// from the next one on meet nothing that exists.
	Above int64
	// Home is where the bucket is, see Document.
	Home string
	// Remove takes away all that lies ahead of the document that it is given,
	// and says how many manifests of its log are there of segments that have
	// left it. After an error, or none, it may be called again.
	Remove func(ctx context.Context, d *Document) (manifests int64, err error)
}

// AcceptDocument goes on from a document that is older than what lies around
// it: what it cannot have seen is removed, and the log is read again from its
// read_from. Whoever owned the vchannel is fenced first. Until it has ended
// every claim looks again, and it may be repeated after an error.
func AcceptDocument(ctx context.Context, b Bucket, v VChannel, a Acceptance) (*Document, error) {
	if _, _, err := Load(ctx, b, v.Name()); err != nil {
		return nil, err // there is nothing to accept
	}
	s, d, err := claim(ctx, b, v, 0, func(d *Document) error {
		if d.Unsettled == 0 {
			d.Unsettled = d.Epoch
		}
		d.Epoch = max(d.Epoch, a.Above)
		return sameLog(d, v)
	})
	if err != nil {
		return nil, err
	}
	n, err := a.Remove(ctx, d)
	if err != nil {
		return nil, err
	}
	next := *d
	next.Home, next.Unsettled = a.Home, 0
	if d.Manifests != nil {
		next.Manifests = &n // those that a copy lacks are not looked for again
	}
	if _, err := s.Commit(ctx, &next); err != nil {
		return nil, fmt.Errorf("%s, with nothing ahead of it: %w", DocumentKey(d.VChannel), err)
	}
	return s.last, nil
}
