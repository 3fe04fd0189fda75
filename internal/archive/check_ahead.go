package archive

import (
	"context"

	"flowgraph/checkpoints"
)

// ahead holds a manifest against its document, which must know of it: one
// that does not is older than the bucket around it, and a worker that goes on
// from it stores rows again.
func (c *check) ahead(ctx context.Context, seg *Segment) error {
	doc := c.archive.doc(seg.VChannel)
	if !seg.InManifest || doc == nil || doc.TopicID != seg.TopicID {
		return nil
	}
	if doc.Segments[seg.ID] == nil {
		c.left[seg.VChannel]++
	}
	sealed := seg.Segment.Sealed()
	why := doc.Ahead(sealed)
	if why == "" {
		return nil
	}
	ok, err := c.moved(ctx, seg.VChannel, func(d *checkpoints.Document) bool { return d.Ahead(sealed) == "" })
	if err == nil && !ok {
		c.problem("%s: the document is older than what lies around it: %s", seg.VChannel, why)
	}
	return err
}

// whole compares the documents with the DDL events and the number of manifests
// once all manifests are read.
func (c *check) whole(ctx context.Context) error {
	for _, v := range c.archive.vchannels {
		if v.Doc == nil {
			continue
		}
		events, err := checkpoints.EventsAhead(ctx, c.archive.bucket, v.Doc)
		if err = c.tolerate(err); err != nil {
			return err
		}
		for _, e := range events {
			ok, err := c.moved(ctx, v.Name, func(d *checkpoints.Document) bool { return d.AheadOfEvent(e) == "" })
			if err != nil {
				return err
			}
			if !ok {
				c.problem("%s: the document is older than what lies around it: %s", v.Name, v.Doc.AheadOfEvent(e))
			}
		}
		if n := v.Doc.Manifests; n != nil && c.left[v.Name] < *n {
			c.problem("%s: %d segments have left the document, %d of them have a manifest", v.Name, *n, c.left[v.Name])
		}
	}
	return nil
}
