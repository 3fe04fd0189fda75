package archive

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"flowgraph/checkpoints"
)

// probePrefix is where a worker that starts puts an object to try the store
// out; it removes it again unless it is killed there.
const probePrefix = checkpoints.DocumentPrefix + ".probe-"

// probeAge is how old a probe must be: no worker is in the middle of one for
// that long.
const probeAge = 24 * time.Hour

// Remover removes objects; an absent one is a success.
type Remover interface {
	Remove(ctx context.Context, key string) error
}

// GarbageOptions say what is looked for.
type GarbageOptions struct {
	VChannel string    // only this one's; "": everything's, and old probes
	Now      time.Time // against which ages are taken
	// ExpireAfter, if not 0, removes the data of collections that were dropped
	// so long ago. It excludes VChannel: a collection is in several.
	ExpireAfter time.Duration
	Remove      Remover // nil: what is found stays
}

// Garbage is one object that nothing refers to and nothing will.
type Garbage struct {
	Key      string `json:"key"`
	Kind     string `json:"kind"` // insert_log, delta_log, stats_log, chunk or probe
	VChannel string `json:"vchannel,omitempty"`
	Epoch    int64  `json:"epoch,omitempty"`
	Expired  int64  `json:"expired_collection,omitempty"` // ID; it may be any vchannel's
	Size     int64  `json:"bytes"`
}

// Kept counts objects that nothing refers to and that stay nevertheless.
type Kept struct {
	Current   int64 `json:"current_epoch"` // uploads of a claim that has not ended
	Unknown   int64 `json:"unknown"`       // they do not tell whose they are
	Protected int64 `json:"protected"`     // what refers to them perhaps cannot be read
	Young     int64 `json:"young_probes"`
}

// Collector finds garbage. An object may go when it is of an epoch below its
// vchannel's document and neither that document nor a manifest refers to it:
// a commit of that epoch can no longer land, and commits of later ones name
// no objects of it but those that are referred to already. That needs no
// clock and no lock, so workers may run meanwhile. The order matters: a
// segment leaves a document for a manifest, never the other way, so documents
// with their chunks are read first, then manifests, and then what there is.
type Collector struct {
	// Kept is complete when Garbage has ended.
	Kept Kept
	// Unreadable are documents, chunks and manifests that cannot be used. All
	// that they may refer to stays.
	Unreadable []error
	// Expired are the collections that ExpireAfter concerns and that were not
	// marked before. With Remove they are marked now.
	Expired []Expired

	archive *Archive
	o       GarbageOptions
	refs    map[checkpoints.SegmentRef]*references
	expired map[int64]bool
}

// NewCollector reads all that refers to objects. It holds about two hundred
// bytes a flush.
func NewCollector(ctx context.Context, b checkpoints.Bucket, o GarbageOptions) (*Collector, error) {
	a, err := Open(ctx, b)
	if err != nil {
		return nil, err
	}
	if o.VChannel != "" && a.VChannel(o.VChannel) == nil {
		return nil, fmt.Errorf("vchannel %s has no document", o.VChannel)
	}
	g := &Collector{archive: a, o: o, expired: a.settledAgain(), refs: map[checkpoints.SegmentRef]*references{}}
	for _, v := range a.vchannels {
		if v.Err != nil {
			g.Unreadable = append(g.Unreadable, v.Err)
		}
	}
	if o.ExpireAfter > 0 {
		if err := g.expire(ctx); err != nil {
			return nil, err
		}
	}
	for s, err := range ordered(ctx, gets, each(a.openSegments(func(int64) bool { return true })), g.logs) {
		if err := g.refer(s, err); err != nil {
			return nil, err
		}
	}
	for s, err := range ordered(ctx, gets, a.manifestKeys(ctx, checkpoints.ManifestPrefix), g.manifest) {
		if err := g.refer(s, err); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// expire finds what ExpireAfter concerns and marks it, unless this is a dry
// run. The mark comes before the first removal, so that nobody takes for
// damage what is missing.
func (g *Collector) expire(ctx context.Context) error {
	if g.o.VChannel != "" {
		return errors.New("collections expire in all their vchannels, not in one")
	}
	var err error
	if g.Expired, err = g.archive.expirable(ctx, g.o.Now.Add(-g.o.ExpireAfter)); err != nil {
		return err
	}
	for _, e := range g.Expired {
		if g.o.Remove != nil {
			if err := g.archive.expire(ctx, e); err != nil {
				return err
			}
		}
		g.expired[e.Collection] = true
	}
	return nil
}

// referring is a segment and what it refers to.
type referring struct {
	ref    checkpoints.SegmentRef
	logs   []checkpoints.Log
	chunks []string
}

func (g *Collector) logs(ctx context.Context, s *Segment) (referring, error) {
	logs, chunks, err := g.archive.Logs(ctx, s)
	return referring{s.ref(), logs, chunks}, err
}

func (g *Collector) manifest(ctx context.Context, key string) (referring, error) {
	r, _, _ := checkpoints.ParseManifestKey(key)
	m, err := g.archive.manifest(ctx, key)
	if err != nil {
		return referring{ref: r}, err
	}
	return g.logs(ctx, m.segment)
}

// refer notes what may not go.
func (g *Collector) refer(s referring, err error) error {
	if err != nil && (!damaged(err) || s.ref == checkpoints.SegmentRef{}) {
		return err
	}
	r := g.refs[s.ref]
	if r == nil {
		r = &references{logs: map[string]bool{}, chunks: map[string]bool{}}
		g.refs[s.ref] = r
	}
	if err != nil {
		r.damaged = true
		g.Unreadable = append(g.Unreadable, err)
	}
	for _, l := range s.logs {
		r.logs[l.ID] = true
	}
	for _, key := range s.chunks {
		r.chunks[key] = true
	}
	return nil
}

// Garbage yields what nothing refers to, and has removed it where that is
// asked for. It may be ended and begun again at any place. An error ends it.
func (g *Collector) Garbage(ctx context.Context) iter.Seq2[Garbage, error] {
	return func(yield func(Garbage, error) bool) {
		for found, err := range ordered(ctx, gets, g.candidates(ctx), g.judge) {
			switch {
			case err != nil:
				yield(Garbage{}, err)
				return
			case found.stays != nil:
				*found.stays++
			case found.Key != "" && !yield(found.Garbage, nil):
				return
			}
		}
	}
}
