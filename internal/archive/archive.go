// Package archive is the way back: it reads collections, segments, rows and
// deletes from the bucket alone, and checks them against what was produced.
package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"flowgraph/checkpoints"
)

// gets is how many objects are asked for at a time.
const gets = 16

// Archive is what a bucket holds, as its documents said when it was opened.
// Everything else is read when it is asked for, so that an archive costs
// memory for what is open, not for its history.
type Archive struct {
	bucket    checkpoints.Bucket
	vchannels []*VChannel // by name
	byName    map[string]*VChannel
	history   map[logPlace]past
	expired   map[int64]bool // collections
}

// VChannel is one vchannel's document. Err says why there is none to use.
type VChannel struct {
	Name string
	Doc  *checkpoints.Document // nil with Err
	ETag string
	Born bool  // the mark that tells a lost document from a first start is there
	Err  error // the document is lost or must not be used
}

// Open reads the documents of all vchannels. One that cannot be used is in
// its VChannel's Err; an error of Open itself is the store's.
func Open(ctx context.Context, b checkpoints.Bucket) (*Archive, error) {
	a := &Archive{bucket: b, byName: map[string]*VChannel{}}
	names, err := a.names(ctx)
	if err != nil {
		return nil, err
	}
	for v, err := range ordered(ctx, gets, each(names), a.load) {
		if err != nil {
			return nil, err
		}
		v.Born = a.byName[v.Name].Born
		a.byName[v.Name] = v
		a.vchannels = append(a.vchannels, v)
	}
	return a, a.loadExpired(ctx)
}

// names lists the vchannels that have a document or had one once.
func (a *Archive) names(ctx context.Context) ([]string, error) {
	var names []string
	for info, err := range a.bucket.List(ctx, checkpoints.DocumentPrefix) {
		if err != nil {
			return nil, err
		}
		key := strings.TrimPrefix(info.Key, checkpoints.DocumentPrefix)
		name, born := strings.CutSuffix(key, ".born")
		if !born {
			var doc bool
			if name, doc = strings.CutSuffix(key, ".json"); !doc {
				continue // the probe of a worker that starts
			}
		}
		if a.byName[name] == nil {
			a.byName[name] = &VChannel{Name: name}
			names = append(names, name)
		}
		a.byName[name].Born = a.byName[name].Born || born
	}
	slices.Sort(names)
	return names, nil
}

func (a *Archive) load(ctx context.Context, name string) (*VChannel, error) {
	doc, info, err := checkpoints.Load(ctx, a.bucket, name)
	switch {
	case errors.Is(err, checkpoints.ErrNotExist):
		err = fmt.Errorf("%s is there, %s is not: %w",
			checkpoints.BornKey(name), checkpoints.DocumentKey(name), checkpoints.ErrDocumentLost)
	case err != nil && !damaged(err):
		return nil, err
	}
	return &VChannel{Name: name, Doc: doc, ETag: info.ETag, Err: err}, nil
}

// damaged tells what an object is from what the store could not answer.
func damaged(err error) bool {
	for _, kind := range []error{checkpoints.ErrNotExist, checkpoints.ErrInvalid, checkpoints.ErrNewerVersion, ErrDamaged} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// VChannels lists all vchannels by name. The list must not be changed.
func (a *Archive) VChannels() []*VChannel { return a.vchannels }

// VChannel returns the vchannel of this name, nil if the bucket has none.
func (a *Archive) VChannel(name string) *VChannel { return a.byName[name] }

// doc is the document of this name, nil if it cannot be used.
func (a *Archive) doc(name string) *checkpoints.Document {
	if v := a.byName[name]; v != nil {
		return v.Doc
	}
	return nil
}

// Holders are the segments that may hold a seek position back.
type Holders struct {
	// Certain: nothing of them is persisted and their first row is at the
	// seek position.
	Certain []*checkpoints.Segment
	// Possible: open segments that end at or below the seek position, so that
	// the record there may be theirs. The bucket does not tell what a worker
	// has in memory; the position may also be the end of all that was read.
	Possible []*checkpoints.Segment
}

// Holders tells what can be known from the document about what holds the
// vchannel's seek position back, by segment ID.
func (v *VChannel) Holders() Holders {
	var h Holders
	if v.Doc == nil {
		return h
	}
	for _, s := range v.Doc.Segments {
		switch {
		case s.State == checkpoints.New && s.Start.Offset == v.Doc.Seek.Offset:
			h.Certain = append(h.Certain, s)
		case s.State == checkpoints.Normal && s.End.Offset <= v.Doc.Seek.Offset:
			h.Possible = append(h.Possible, s)
		}
	}
	byID := func(x, y *checkpoints.Segment) int { return cmp.Compare(x.ID, y.ID) }
	slices.SortFunc(h.Certain, byID)
	slices.SortFunc(h.Possible, byID)
	return h
}

func each[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range list {
			if !yield(v, nil) {
				return
			}
		}
	}
}
