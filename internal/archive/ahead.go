package archive

import (
	"context"
	"iter"

	"flowgraph/checkpoints"
)

// Ahead is what a bucket holds that a vchannel's document cannot have seen:
// the document is older than the bucket around it.
type Ahead struct {
	Manifests []checkpoints.Sealed
	Events    []string // keys
	// Compounds are the keys of the statistics of whole segments that the
	// document does not show as final: it would store others under the key.
	Compounds     []string
	Rows, Deletes int64 // in the segments of Manifests
	End           int64 // the largest of theirs; 0: none
	// Counted is how many segments that have left the document have their
	// manifest.
	Counted int64
	Epoch   int64 // the largest of any object, of whatever vchannel
}

// Nothing: the document is as new as all that is there.
func (a *Ahead) Nothing() bool { return len(a.Manifests)+len(a.Events)+len(a.Compounds) == 0 }

// FindAhead reads all manifests and lists all files. It holds some hundred
// bytes a manifest. One that cannot be read is an error: it may be ahead.
func FindAhead(ctx context.Context, b checkpoints.Bucket, d *checkpoints.Document) (*Ahead, error) {
	f := &aheadFinder{bucket: b, doc: d, manifests: map[checkpoints.SegmentRef]bool{}}
	f.Epoch = d.Epoch
	for m, err := range ordered(ctx, gets, f.keys(ctx), f.load) {
		if err != nil {
			return nil, err
		}
		f.manifest(m)
	}
	events, err := checkpoints.EventsAhead(ctx, b, d)
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		f.Events = append(f.Events, checkpoints.EventKey(d.VChannel, checkpoints.LogName(d.TopicID, e.Generation), e.Offset))
	}
	for c, err := range ordered(ctx, gets, f.compounds(ctx), f.ours) {
		if err != nil {
			return nil, err
		}
		if c != "" {
			f.Compounds = append(f.Compounds, c)
		}
	}
	return &f.Ahead, nil
}

type aheadFinder struct {
	Ahead
	bucket    checkpoints.Bucket
	doc       *checkpoints.Document
	manifests map[checkpoints.SegmentRef]bool // of all vchannels; true: ahead
}

// keys yields what has a manifest, and notes the epochs of chunks.
func (f *aheadFinder) keys(ctx context.Context) iter.Seq2[checkpoints.SegmentRef, error] {
	return func(yield func(checkpoints.SegmentRef, error) bool) {
		for info, err := range f.bucket.List(ctx, checkpoints.ManifestPrefix) {
			if err != nil {
				yield(checkpoints.SegmentRef{}, err)
				return
			}
			r, chunk, ok := checkpoints.ParseManifestKey(info.Key)
			f.Epoch = max(f.Epoch, checkpoints.EpochOf(chunk))
			if ok && chunk == "" && !yield(r, nil) {
				return
			}
		}
	}
}

func (f *aheadFinder) load(ctx context.Context, r checkpoints.SegmentRef) (*checkpoints.Manifest, error) {
	return checkpoints.LoadManifest(ctx, f.bucket, r)
}

func (f *aheadFinder) manifest(m *checkpoints.Manifest) {
	s := m.Sealed()
	f.Epoch = max(f.Epoch, s.Epoch)
	f.manifests[s.SegmentRef] = false
	if m.VChannel != f.doc.VChannel || m.TopicID != f.doc.TopicID {
		return
	}
	if f.doc.Ahead(s) == "" {
		if f.doc.Segments[s.Segment] == nil {
			f.Counted++
		}
		return
	}
	f.manifests[s.SegmentRef] = true
	f.Manifests = append(f.Manifests, s)
	f.End = max(f.End, f.doc.EndOf(&m.Segment).Offset)
	if s.Level == checkpoints.L0 {
		f.Deletes += m.Rows
	} else {
		f.Rows += m.Rows
	}
}

// compounds yields the statistics of whole segments that may be ahead, and
// notes the epochs of all files.
func (f *aheadFinder) compounds(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, prefix := range []string{"insert_log/", "delta_log/", "stats_log/"} {
			for info, err := range f.bucket.List(ctx, prefix) {
				if err != nil {
					yield("", err)
					return
				}
				r, _, log, ok := parseDataKey(info.Key)
				f.Epoch = max(f.Epoch, checkpoints.EpochOf(log))
				if ok && log == checkpoints.CompoundStats && !f.final(r) && !yield(info.Key, nil) {
					return
				}
			}
		}
	}
}

// final says whether the segment's statistics are as they must be.
func (f *aheadFinder) final(r checkpoints.SegmentRef) bool {
	if s := f.doc.Segments[r.Segment]; s != nil {
		return s.State >= checkpoints.Flushed
	}
	ahead, sealed := f.manifests[r]
	return sealed && !ahead
}

// ours returns the key if the object is this vchannel's: another one's may be
// on its way to a manifest. A copy may have lost what tells.
func (f *aheadFinder) ours(ctx context.Context, key string) (string, error) {
	r, _, _, _ := parseDataKey(key)
	if f.manifests[r] || f.doc.Segments[r.Segment] != nil {
		return key, nil
	}
	info, err := f.bucket.Stat(ctx, key)
	if err != nil && !damaged(err) {
		return "", err
	}
	if err != nil || info.Meta[checkpoints.MetaVChannel] != f.doc.VChannel {
		return "", nil
	}
	return key, nil
}

// remove takes it all away. Manifests are last: while there is one, nobody
// takes the document for the last one.
func (a *Ahead) remove(ctx context.Context, r Remover) error {
	var sealed []string
	for _, m := range a.Manifests {
		sealed = append(sealed, checkpoints.ManifestKey(m.Collection, m.Partition, m.Segment))
	}
	for _, keys := range [][]string{a.Compounds, a.Events, sealed} {
		do := func(ctx context.Context, key string) (string, error) { return key, r.Remove(ctx, key) }
		for _, err := range ordered(ctx, gets, each(keys), do) {
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Accept goes on from the document, whatever it is when it is claimed: what
// lies ahead of it is removed, so that it does not count; gc takes the files.
// It may be repeated after an error or a kill at any place.
func (a *Ahead) Accept(ctx context.Context, b checkpoints.Bucket, r Remover, v checkpoints.VChannel, home string) (*checkpoints.Document, error) {
	return checkpoints.AcceptDocument(ctx, b, v, checkpoints.Acceptance{Above: a.Epoch, Home: home,
		Remove: func(ctx context.Context, d *checkpoints.Document) (int64, error) {
			now, err := FindAhead(ctx, b, d)
			if err != nil {
				return 0, err
			}
			return now.Counted, now.remove(ctx, r)
		}})
}
