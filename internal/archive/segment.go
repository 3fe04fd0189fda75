package archive

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"flowgraph/checkpoints"
)

// Segment is one segment with what its document or manifest says of it. Its
// State is Dropped where its partition or collection is, although a manifest
// is never touched again.
type Segment struct {
	checkpoints.Segment
	VChannel       string
	TopicID        string // of the log that its offsets are of
	InManifest     bool   // it has left the document
	CollectionName string // "" if unknown
	PartitionName  string
	Dropped        *checkpoints.Drop // of its partition or collection, the earlier; nil if alive
}

// Segments yields every segment of every vchannel once, by its manifest's
// key. Documents are older than the listing, so where both know a segment the
// manifest wins. A manifest that cannot be used is an error in its place; a
// caller may go on behind it.
func (a *Archive) Segments(ctx context.Context) iter.Seq2[*Segment, error] {
	return a.segments(ctx, checkpoints.ManifestPrefix, func(int64) bool { return true })
}

// segments yields those of some collections, whose manifests have a prefix.
func (a *Archive) segments(ctx context.Context, prefix string, collection func(int64) bool) iter.Seq2[*Segment, error] {
	return func(yield func(*Segment, error) bool) {
		open := a.openSegments(collection)
		before := func(key string) bool { // yields what the documents hold before key
			for len(open) > 0 && (key == "" || open[0].ManifestKey() < key) {
				if !yield(open[0], nil) {
					return false
				}
				open = open[1:]
			}
			return true
		}
		for m, err := range ordered(ctx, gets, a.manifestKeys(ctx, prefix), a.manifest) {
			if m.key != "" && !before(m.key) {
				return
			}
			if len(open) > 0 && open[0].ManifestKey() == m.key {
				open = open[1:]
			}
			if !yield(m.segment, err) || m.key == "" {
				return
			}
		}
		before("")
	}
}

// openSegments are those of the documents, by manifest key.
func (a *Archive) openSegments(collection func(int64) bool) []*Segment {
	var list []*Segment
	for _, v := range a.vchannels {
		if v.Doc == nil {
			continue
		}
		for _, s := range v.Doc.Segments {
			if collection(s.Collection) {
				list = append(list, a.describe(&Segment{Segment: *s, VChannel: v.Name, TopicID: v.Doc.TopicID}))
			}
		}
	}
	slices.SortFunc(list, func(x, y *Segment) int { return cmp.Compare(x.ManifestKey(), y.ManifestKey()) })
	return list
}

// end is where the segment's rows of its log as it is now end: before its End
// if the log was cut back since.
func (a *Archive) end(s *Segment) checkpoints.Position {
	if doc := a.doc(s.VChannel); doc != nil {
		return doc.KeptOf(s.TopicID, s.Generation, s.End)
	}
	return s.End
}

func (a *Archive) manifestKeys(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for info, err := range a.bucket.List(ctx, prefix) {
			if err != nil {
				yield("", err)
				return
			}
			if _, chunk, ok := checkpoints.ParseManifestKey(info.Key); ok && chunk == "" && !yield(info.Key, nil) {
				return
			}
		}
	}
}

// loaded is a manifest, or with an error what its key says.
type loaded struct {
	key     string
	segment *Segment
}

func (a *Archive) manifest(ctx context.Context, key string) (loaded, error) {
	r, _, _ := checkpoints.ParseManifestKey(key)
	m, err := checkpoints.LoadManifest(ctx, a.bucket, r)
	if err != nil {
		return loaded{key: key}, err
	}
	s := &Segment{Segment: m.Segment, VChannel: m.VChannel, TopicID: m.TopicID, InManifest: true}
	return loaded{key, a.describe(s)}, nil
}

// describe adds what stands elsewhere: names, and the drop of the place.
func (a *Archive) describe(s *Segment) *Segment {
	at := logPlace{s.VChannel, s.TopicID, s.Collection, wholeCollection}
	whole := a.past(at)
	at.partition = s.Partition
	part := a.past(at)
	s.CollectionName, s.PartitionName = whole.name, part.name
	s.Dropped = part.drop
	if s.Dropped == nil || whole.drop != nil && whole.drop.Offset < s.Dropped.Offset {
		s.Dropped = whole.drop
	}
	if s.Dropped != nil {
		s.State = checkpoints.Dropped
	}
	return s
}
