package archive

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"strings"

	"flowgraph/checkpoints"
)

// candidate is an object that nothing refers to. stays counts it where it
// must stay; without a key it is gone by itself, or another vchannel's.
type candidate struct {
	Garbage
	log   string // ID
	stays *int64
}

// candidates lists what nothing refers to, probes among it. Documents, marks,
// manifests, DDL events and quarantined records are no candidates ever.
func (g *Collector) candidates(ctx context.Context) iter.Seq2[candidate, error] {
	return func(yield func(candidate, error) bool) {
		for _, prefix := range []string{"insert_log/", "delta_log/", "stats_log/", checkpoints.ManifestPrefix, probePrefix} {
			for info, err := range g.archive.bucket.List(ctx, prefix) {
				if err != nil {
					yield(candidate{}, err)
					return
				}
				if c, ok := g.candidate(prefix, info); ok && !yield(c, nil) {
					return
				}
			}
		}
	}
}

func (g *Collector) candidate(prefix string, info checkpoints.Info) (c candidate, ok bool) {
	c.Garbage = Garbage{Key: info.Key, Kind: strings.TrimSuffix(prefix, "/"), Size: info.Size}
	var r checkpoints.SegmentRef
	switch prefix {
	case probePrefix:
		return g.probe(c, info)
	case checkpoints.ManifestPrefix:
		c.Kind = "chunk"
		if r, c.log, ok = checkpoints.ParseManifestKey(info.Key); ok && c.log == "" {
			return c, false
		}
	default:
		r, _, c.log, ok = parseDataKey(info.Key)
	}
	ref := g.refs[r]
	switch {
	case ok && prefix != checkpoints.ManifestPrefix && g.expired[r.Collection]:
		c.Expired = r.Collection
		return c, g.o.VChannel == ""
	case !ok || epochOf(c.log) == 0 && c.log != checkpoints.CompoundStats:
		c.stays = &g.Kept.Unknown
	case ref != nil && (ref.logs[c.log] || ref.chunks[info.Key] || c.log == checkpoints.CompoundStats):
		return c, false
	case ref != nil && ref.damaged:
		c.stays = &g.Kept.Protected
	}
	return c, true
}

func (g *Collector) probe(c candidate, info checkpoints.Info) (candidate, bool) {
	c.Kind = "probe"
	if g.o.Now.Sub(info.Modified) < probeAge {
		c.stays = &g.Kept.Young
	}
	return c, g.o.VChannel == ""
}

// judge decides by whose epoch the object is, which is in its metadata, and
// removes what may go. It runs beside others.
func (g *Collector) judge(ctx context.Context, c candidate) (candidate, error) {
	if c.stays != nil {
		return c, nil
	}
	if c.Kind != "probe" && c.Expired == 0 {
		if err := g.owner(ctx, &c); err != nil || c.stays != nil || c.Key == "" {
			return c, err
		}
	}
	if g.o.Remove == nil {
		return c, nil
	}
	if err := g.o.Remove.Remove(ctx, c.Key); err != nil {
		return c, err
	}
	return c, nil
}

// owner finds out whose an object is, and whether it must stay.
func (g *Collector) owner(ctx context.Context, c *candidate) error {
	info, err := g.archive.bucket.Stat(ctx, c.Key)
	if errors.Is(err, checkpoints.ErrNotExist) {
		c.Key = ""
		return nil
	}
	if err != nil {
		return err
	}
	c.VChannel = info.Meta[checkpoints.MetaVChannel]
	c.Epoch, _ = strconv.ParseInt(info.Meta[checkpoints.MetaEpoch], 10, 64)
	v := g.archive.VChannel(c.VChannel)
	switch {
	case c.VChannel != "" && g.o.VChannel != "" && c.VChannel != g.o.VChannel:
		c.Key = ""
	case v == nil || c.Epoch <= 0 || c.log != checkpoints.CompoundStats && epochOf(c.log) != c.Epoch:
		c.stays = &g.Kept.Unknown
	case v.Doc == nil:
		c.stays = &g.Kept.Protected
	case c.Epoch >= v.Doc.Epoch:
		c.stays = &g.Kept.Current
	}
	return nil
}
