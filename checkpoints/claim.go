package checkpoints

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
)

// claimAttempts is how often a claim that met another one is made again.
const claimAttempts = 5

// Claim makes the caller the only owner of a vchannel: it loads the document,
// or begins one if there never was any, and stores it with the
// next epoch and an owner drawn for this claim alone. From then on every
// commit of an earlier owner fails. The document returned must not be changed.
// begin is the log's first offset now, where a vchannel that never had a
// document starts.
//
// Every start of a flow claims, also after an error in the same process: an
// epoch used by two lives names two things alike.
func Claim(ctx context.Context, b Bucket, v VChannel, begin int64) (*Store, *Document, error) {
	return ClaimBy(ctx, b, v, begin, Signs{})
}

// ClaimBy is Claim that looks at what lies around the document where a sign
// speaks against it, before anything is written: ErrOlder or ErrIncomplete if
// it is not the last one of what is there.
func ClaimBy(ctx context.Context, b Bucket, v VChannel, begin int64, signs Signs) (*Store, *Document, error) {
	load := func() (*Document, string, error) { return signs.load(ctx, b, v, begin) }
	return claimLoaded(ctx, b, v, load, func(d *Document) error {
		if signs.Home != "" {
			d.Home = signs.Home
		}
		return sameLog(d, v)
	})
}

// Names returns the names of this claim. They are made once: a second counter
// of one epoch would repeat the first.
func (s *Store) Names() *Names { return s.names }

// claim stores what edit makes of the document under the next epoch.
func claim(ctx context.Context, b Bucket, v VChannel, begin int64, edit func(*Document) error) (*Store, *Document, error) {
	load := func() (*Document, string, error) { return loadOrNew(ctx, b, v, begin) }
	return claimLoaded(ctx, b, v, load, edit)
}

func claimLoaded(ctx context.Context, b Bucket, v VChannel, load func() (*Document, string, error), edit func(*Document) error) (*Store, *Document, error) {
	var err error
	for range claimAttempts {
		var s *Store
		s, err = claimOnce(ctx, b, v, load, edit)
		if err == nil {
			return s, s.last, s.born(ctx)
		}
		// What is stored is not ours: another claim, or a commit of the
		// owner before. Both are loaded and claimed over.
		if !errors.Is(err, ErrConflict) {
			return nil, nil, err
		}
	}
	return nil, nil, fmt.Errorf("claim %s: %w", v.Name(), err)
}

func claimOnce(ctx context.Context, b Bucket, v VChannel, load func() (*Document, string, error), edit func(*Document) error) (*Store, error) {
	d, etag, err := load()
	if err != nil {
		return nil, err
	}
	if etag != "" {
		d.noteReadFrom()
	}
	if err := edit(d); err != nil {
		return nil, err
	}
	if d.Epoch >= MaxEpoch {
		return nil, fmt.Errorf("claim %s after epoch %d: %w", v.Name(), d.Epoch, ErrEpoch)
	}
	// A name of host or process would come back and make two lives of one
	// epoch look like one.
	d.Version, d.Epoch, d.Owner, d.Sequence = d.formatVersion(), d.Epoch+1, rand.Text(), 0
	d.forgetUnpersisted()
	names, err := NewNames(v, d.Epoch)
	if err != nil {
		return nil, err
	}
	data, err := d.Encode()
	if err != nil {
		return nil, err
	}
	s := &Store{bucket: b, vchannel: v, epoch: d.Epoch, owner: d.Owner, names: names}
	key := DocumentKey(v.Name())
	o := Object{Parts: [][]byte{data}, Meta: s.Meta()}
	info, err := b.Put(ctx, key, o, Condition{ETag: etag, Refusals: commitRefusals})
	if err != nil {
		return nil, err
	}
	s.etag, s.last = info.ETag, d
	return s, nil
}

// loadOrNew returns the stored document and its ETag, or the first one.
func loadOrNew(ctx context.Context, b Bucket, v VChannel, begin int64) (*Document, string, error) {
	d, info, err := Load(ctx, b, v.Name())
	if !errors.Is(err, ErrNotExist) {
		return d, info.ETag, err
	}
	if _, err := b.Stat(ctx, BornKey(v.Name())); errors.Is(err, ErrNotExist) {
		return newDocument(v, begin), "", nil
	} else if err != nil {
		return nil, "", err
	}
	// It may have been born since we looked.
	d, info, err = Load(ctx, b, v.Name())
	if errors.Is(err, ErrNotExist) {
		return nil, "", fmt.Errorf("%s is there, %s is not: %w",
			BornKey(v.Name()), DocumentKey(v.Name()), ErrDocumentLost)
	}
	return d, info.ETag, err
}

func newDocument(v VChannel, begin int64) *Document {
	return &Document{
		VChannel: v.Name(), Topic: v.Topic, Partition: v.Partition, TopicID: v.TopicID,
		ReadFrom:    Position{Offset: begin, LeaderEpoch: -1},
		Seek:        Position{Offset: begin, LeaderEpoch: -1},
		Manifests:   new(int64),
		Collections: map[int64]*Collection{},
		Segments:    map[int64]*Segment{},
	}
}

// sameLog refuses positions of another log: its offsets would be taken for
// persisted ones.
func sameLog(d *Document, v VChannel) error {
	if d.TopicID != v.TopicID {
		return fmt.Errorf("%s was stored for topic ID %s up to offset %d, the topic now has ID %s; "+
			"accept the new log by command: %w", DocumentKey(d.VChannel), d.TopicID, d.Seek.Offset, v.TopicID, ErrTopicRecreated)
	}
	return nil
}

// forgetUnpersisted removes auto segments with nothing persisted: their IDs
// are of an older epoch, and replay opens others for their rows.
func (d *Document) forgetUnpersisted() {
	for id, s := range d.Segments {
		if s.Auto && s.State == New {
			delete(d.Segments, id)
		}
	}
}

// born leaves the mark that tells a lost document from a first start.
func (s *Store) born(ctx context.Context) error {
	key := BornKey(s.vchannel.Name())
	if _, err := s.bucket.Stat(ctx, key); !errors.Is(err, ErrNotExist) {
		return err
	}
	_, err := s.bucket.Put(ctx, key, Object{Parts: [][]byte{[]byte("{}\n")}, Meta: Meta(s.vchannel.Name(), 0)}, Condition{})
	if errors.Is(err, ErrConflict) {
		return nil // somebody marked it in other words
	}
	return err
}
