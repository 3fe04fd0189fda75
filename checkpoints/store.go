package checkpoints

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

const (
	// commitRefusals is how often a refused document is tried again.
	commitRefusals = 10
	// commitAttempts bounds how often one commit meets an earlier attempt of
	// ours; each can land only once.
	commitAttempts = 16
)

// Store writes one vchannel's document for one claim, by compare-and-set. It
// is used by one goroutine at a time.
type Store struct {
	bucket   Bucket
	vchannel VChannel
	epoch    int64
	owner    string
	sequence int64     // of the last attempt
	etag     string    // of the last version known to be stored
	last     *Document // that version
	names    *Names
	fenced   error
}

// Epoch is the claim's epoch.
func (s *Store) Epoch() int64 { return s.epoch }

// VChannel is what was claimed.
func (s *Store) VChannel() VChannel { return s.vchannel }

// Meta is the user metadata for objects of this claim.
func (s *Store) Meta() map[string]string { return Meta(s.vchannel.Name(), s.epoch) }

// Load reads a vchannel's document as it is: ErrNotExist if there is none,
// ErrInvalid or ErrNewerVersion if it must not be used.
func Load(ctx context.Context, b Bucket, vchannel string) (*Document, Info, error) {
	d, _, info, err := load(ctx, b, vchannel)
	return d, info, err
}

func load(ctx context.Context, b Bucket, vchannel string) (*Document, []byte, Info, error) {
	key := DocumentKey(vchannel)
	data, info, err := b.Get(ctx, key)
	if err != nil {
		return nil, nil, Info{}, err
	}
	d, err := Decode(vchannel, data)
	return d, data, info, err
}

// Commit stores a document as this claim's next version and returns its size
// in bytes. The document is not changed: version, epoch, owner and sequence
// are this claim's. It returns nil only if these very bytes are stored. Any
// error but the context's and ErrRefused is final. After the context's the
// outcome is unknown, and the next commit finds it out.
func (s *Store) Commit(ctx context.Context, d *Document) (size int64, err error) {
	if s.fenced != nil {
		return 0, s.fenced
	}
	next := *d
	next.Version, next.Epoch, next.Owner = d.formatVersion(), s.epoch, s.owner
	// Each attempt with new content has a sequence of its own, also after one
	// whose outcome is unknown: else that one, landing late, would be taken
	// for this one.
	s.sequence++
	next.Sequence = s.sequence
	if err := next.follows(s.last); err != nil {
		return 0, fmt.Errorf("%s: %w", DocumentKey(d.VChannel), err)
	}
	data, err := next.Encode()
	if err != nil {
		return 0, err
	}
	if err := s.put(ctx, data); err != nil {
		return 0, err
	}
	s.last = &next
	return int64(len(data)), nil
}

// put sends the document until it or another owner's is stored.
func (s *Store) put(ctx context.Context, data []byte) error {
	key := DocumentKey(s.vchannel.Name())
	o := Object{Parts: [][]byte{data}, Meta: s.Meta()}
	for range commitAttempts {
		info, err := s.bucket.Put(ctx, key, o, Condition{ETag: s.etag, Refusals: commitRefusals})
		if err == nil {
			s.etag = info.ETag
			return nil
		}
		// The document gone is like another one stored: not ours any more.
		if !errors.Is(err, ErrConflict) && !errors.Is(err, ErrNotExist) {
			return err
		}
		stored, err := s.readBack(ctx, data)
		if err != nil || stored {
			return err
		}
	}
	return fmt.Errorf("put %s: refused with the version that is stored: %w", key, ErrConflict)
}

// readBack decides what a failed condition means: these bytes are stored, or
// an earlier attempt of this claim landed late (its version is the one to
// replace now), or the vchannel is somebody else's.
func (s *Store) readBack(ctx context.Context, sent []byte) (stored bool, err error) {
	d, data, info, err := load(ctx, s.bucket, s.vchannel.Name())
	switch {
	case errors.Is(err, ErrNotExist):
		return false, s.fence(fmt.Errorf("%s is gone: %w", DocumentKey(s.vchannel.Name()), ErrFenced))
	case err != nil:
		return false, err
	case bytes.Equal(data, sent):
		s.etag = info.ETag
		return true, nil
	case d.Epoch == s.epoch && d.Owner == s.owner && d.Sequence < s.sequence:
		s.etag = info.ETag
		return false, nil
	}
	return false, s.fence(fmt.Errorf("%s has epoch %d, owner %s; ours is epoch %d, owner %s: %w",
		DocumentKey(s.vchannel.Name()), d.Epoch, d.Owner, s.epoch, s.owner, ErrFenced))
}

func (s *Store) fence(err error) error {
	s.fenced = err
	return err
}
