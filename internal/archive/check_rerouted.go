package archive

import (
	"context"
	"errors"
	"fmt"

	"flowgraph/checkpoints"
)

// rerouted checks why rows are not in the segment that their message names:
// only a sealed segment sends rows away, and only those at or above its end.
func (c *check) rerouted(ctx context.Context) error {
	for l, rows := range c.late {
		ref := c.refs[l.named]
		if ref == nil || !ref.sealed {
			// A worker may have sealed it since its document was read.
			var err error
			if ref, err = c.sealedSince(ctx, l.named, ref); err != nil {
				return err
			}
		}
		why := ""
		switch {
		case ref == nil:
			why = "does not exist"
		case !ref.sealed:
			why = "is open"
		case l.identity >= 0 && l.identity < ref.end:
			why = fmt.Sprintf("ends at %d", ref.end)
		default:
			continue
		}
		c.problem("offset %d: %d rows of segment %d of %d/%d are in an auto segment, but that segment %s",
			l.identity, rows, l.named.Segment, l.named.Collection, l.named.Partition, why)
	}
	return nil
}

// sealedSince looks for a segment's seal behind the document that was read.
func (c *check) sealedSince(ctx context.Context, r checkpoints.SegmentRef, known *references) (*references, error) {
	if !c.partial {
		return known, nil
	}
	m, err := checkpoints.LoadManifest(ctx, c.archive.bucket, r)
	switch {
	case err == nil:
		end := c.archive.end(&Segment{Segment: m.Segment, VChannel: m.VChannel, TopicID: m.TopicID}).Offset
		return &references{sealed: true, end: end, vchannel: m.VChannel}, nil
	case !errors.Is(err, checkpoints.ErrNotExist):
		return known, c.tolerate(err)
	case known == nil:
		return nil, nil
	}
	out := known
	_, err = c.moved(ctx, known.vchannel, func(d *checkpoints.Document) bool {
		s := d.Segments[r.Segment]
		if s == nil || s.State < checkpoints.Flushed {
			return false
		}
		out = &references{sealed: true, end: d.EndOf(s).Offset, vchannel: known.vchannel}
		return true
	})
	return out, err
}

// moved says whether a vchannel's document as it is now, which a worker may
// have replaced since it was read, explains what the one read does not.
func (c *check) moved(ctx context.Context, vchannel string, explains func(*checkpoints.Document) bool) (bool, error) {
	if !c.partial {
		return false, nil
	}
	if d := c.fresh[vchannel]; d != nil && explains(d) {
		return true, nil
	}
	d, _, err := checkpoints.Load(ctx, c.archive.bucket, vchannel)
	if err != nil {
		if damaged(err) {
			return false, nil // said once already, or by the next run
		}
		return false, err
	}
	c.fresh[vchannel] = d
	return explains(d), nil
}
