package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Signs are what a claim is told at no cost that may speak against the
// document: it may be older than what lies around it, as in a copy that was
// taken while workers ran, or where an earlier version was put back. Rows that
// are stored already would be stored again. Signs decide nothing: they are the
// reason to look. The zero value has none.
type Signs struct {
	// Home is where the bucket is: host, bucket and root path; "": not known.
	Home string
	// Told is what Kafka's group was last told of the document.
	Told Told
	// Survey is asked where there is a reason; nil: never.
	Survey func(ctx context.Context, reason string) (*Survey, error)
}

// Told is what somebody outside was told of a committed document. Whoever has
// an older one has not the last.
type Told struct {
	Seek     Position
	Epoch    int64 // of the document; 0: only the position is known
	Sequence int64
}

// reason is why d may be older than the bucket around it; "": it is as its
// last owner left it, as far as anybody can tell. A rewind has kept the seek
// position that it left.
func (s Signs) reason(d *Document) string {
	most := d.Seek.Offset
	for _, b := range d.Earlier {
		most = max(most, b.Seek.Offset)
	}
	switch {
	case d.Unsettled > 0:
		return "flowgraph accept-document did not end"
	case s.Home != "" && d.Home != "" && s.Home != d.Home:
		return fmt.Sprintf("it was last claimed in %s, this is %s", d.Home, s.Home)
	case s.Told.Epoch > d.Epoch || s.Told.Epoch == d.Epoch && s.Told.Sequence > d.Sequence:
		return fmt.Sprintf("it is of epoch %d, sequence %d, Kafka's group was told of epoch %d, sequence %d", d.Epoch, d.Sequence, s.Told.Epoch, s.Told.Sequence)
	case s.Told.Epoch == 0 && s.Told.Seek.Offset > most:
		return fmt.Sprintf("its seek position is %d, Kafka's group was told %d", d.Seek.Offset, s.Told.Seek.Offset)
	}
	return ""
}

// load is loadOrNew for a claim that looks where there is a reason.
func (s Signs) load(ctx context.Context, b Bucket, v VChannel, begin int64) (*Document, string, error) {
	first, etag, err := loadOrNew(ctx, b, v, begin)
	if err != nil || s.Survey == nil || first.TopicID != v.TopicID {
		return first, etag, err
	}
	reason := s.reason(first)
	if reason == "" {
		return first, etag, nil
	}
	// An owner may go on meanwhile: all that is seen is older than the document
	// that it is held against, and what is missed is held against an older one.
	found, err := findSealed(ctx, b, first)
	if err != nil {
		return nil, "", err
	}
	survey, err := s.Survey(ctx, reason)
	if err != nil {
		return nil, "", err
	}
	events, err := newEvents(ctx, b, first)
	if err != nil {
		return nil, "", err
	}
	d, etag, err := loadOrNew(ctx, b, v, begin)
	if err != nil {
		return nil, "", err
	}
	if why := ahead(d, survey, found, events); why != "" {
		return nil, "", fmt.Errorf("%s: %s; and %s: %w", DocumentKey(d.VChannel), reason, why, ErrOlder)
	}
	if n := first.missing(survey.manifests(first), found); n > 0 {
		return nil, "", fmt.Errorf("%s: %s; and of %d segments that have left it %d have no manifest: %w",
			DocumentKey(d.VChannel), reason, *first.Manifests, n, ErrIncomplete)
	}
	// Nothing of later claims counts, but their files may be there under names
	// that the epochs after d's would draw once more.
	d.Unsettled, d.Epoch = 0, max(d.Epoch, s.Told.Epoch)
	return d, etag, nil
}

func ahead(d *Document, survey *Survey, found []Sealed, events []*Event) string {
	if why := survey.ahead(d); why != "" {
		return why
	}
	for _, m := range found {
		if why := d.Ahead(m); why != "" {
			return why
		}
	}
	for _, e := range events {
		if why := d.AheadOfEvent(e); why != "" {
			return why
		}
	}
	return ""
}

// findSealed lists those of d's segments that have a manifest of its log.
func findSealed(ctx context.Context, b Bucket, d *Document) ([]Sealed, error) {
	var refs []SegmentRef
	for _, s := range d.Segments {
		refs = append(refs, SegmentRef{s.Collection, s.Partition, s.ID})
	}
	manifests := make([]*Manifest, len(refs))
	err := parallel(ctx, lookups, len(refs), func(ctx context.Context, i int) error {
		m, err := LoadManifest(ctx, b, refs[i])
		if errors.Is(err, ErrNotExist) {
			return nil
		}
		manifests[i] = m
		return err
	})
	if err != nil {
		return nil, err
	}
	var found []Sealed
	for _, m := range manifests {
		if m != nil && m.VChannel == d.VChannel && m.TopicID == d.TopicID {
			found = append(found, m.Sealed())
		}
	}
	return found, nil
}

// EventsAhead lists the stored DDL events that d cannot have seen.
func EventsAhead(ctx context.Context, b Bucket, d *Document) ([]*Event, error) {
	events, err := newEvents(ctx, b, d)
	return slices.DeleteFunc(events, func(e *Event) bool { return d.AheadOfEvent(e) == "" }), err
}

// newEvents reads the DDL events that are stored of d's log from Reached on:
// those below have entered d, whatever it has forgotten of them.
func newEvents(ctx context.Context, b Bucket, d *Document) ([]*Event, error) {
	var events []*Event
	for info, err := range b.List(ctx, EventsPrefix(d.VChannel)) {
		if err != nil {
			return nil, err
		}
		if !d.mayBeNew(info.Key) {
			continue
		}
		data, _, err := b.Get(ctx, info.Key)
		if errors.Is(err, ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		e, err := DecodeEvent(info.Key, data)
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}

// mayBeNew says by its key whether an event may be one that d has not seen.
func (d *Document) mayBeNew(key string) bool {
	topicID, generation, offset, ok := parseEventKey(d.VChannel, key)
	switch now := d.Generation(); {
	case !ok || topicID != d.TopicID || generation < now:
		return false
	case generation > now:
		return true
	}
	return offset >= d.Reached.Offset
}

// missing is how many segments have left d for manifests that are not among
// the n of its log. found are those of segments that it still holds.
func (d *Document) missing(n int64, found []Sealed) int64 {
	if d.Manifests == nil {
		return 0
	}
	return max(0, *d.Manifests-(n-int64(len(found))))
}
