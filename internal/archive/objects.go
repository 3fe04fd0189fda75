package archive

import (
	"context"
	"iter"

	"flowgraph/checkpoints"
)

// Objects lists the keys of all objects that a segment refers to: its
// manifest, the key statistics of all its flushes, its chunks, then flush by
// flush its files.
func (a *Archive) Objects(ctx context.Context, s *Segment) ([]string, error) {
	logs, chunks, err := a.Logs(ctx, s)
	if err != nil {
		return nil, err
	}
	var keys []string
	if s.InManifest {
		keys = append(keys, s.ManifestKey())
		if key := s.CompoundKey(); key != "" && !a.expired[s.Collection] { // stored before the manifest
			keys = append(keys, key)
		}
	}
	keys = append(keys, chunks...)
	if a.expired[s.Collection] {
		return keys, nil
	}
	for _, l := range logs {
		keys = append(keys, s.DataKeys(l.ID)...)
	}
	return keys, nil
}

// References yields the key of every object that belongs to the archive, each
// once: documents and their marks, DDL events, quarantined records, the
// objects of all segments, and marks of expired collections. A copy that takes the documents first and then
// everything that is yielded afterwards is consistent, since what a document
// refers to is never removed from what later ones do.
func (a *Archive) References(ctx context.Context, only func(vchannel string) bool) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, v := range a.vchannels {
			if only(v.Name) && !a.vchannelObjects(ctx, v, yield) {
				return
			}
		}
		for key, err := range a.list(ctx, expiredPrefix) {
			if !yield(key, err) || err != nil {
				return
			}
		}
		for s, err := range a.Segments(ctx) {
			if err != nil {
				yield("", err)
				return
			}
			if !only(s.VChannel) {
				continue
			}
			keys, err := a.Objects(ctx, s)
			if err != nil {
				yield("", err)
				return
			}
			for _, key := range keys {
				if !yield(key, nil) {
					return
				}
			}
		}
	}
}

func (a *Archive) vchannelObjects(ctx context.Context, v *VChannel, yield func(string, error) bool) bool {
	if v.Err != nil {
		yield("", v.Err)
		return false
	}
	if !yield(checkpoints.DocumentKey(v.Name), nil) || v.Born && !yield(checkpoints.BornKey(v.Name), nil) {
		return false
	}
	for _, prefix := range []string{eventPrefix(v.Name), "quarantine/" + v.Name + "/"} {
		for key, err := range a.list(ctx, prefix) {
			if !yield(key, err) || err != nil {
				return false
			}
		}
	}
	return true
}
