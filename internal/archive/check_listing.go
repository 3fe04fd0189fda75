package archive

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"flowgraph/checkpoints"
)

// listings looks for objects that nothing refers to. Those of an epoch that
// has ended can never be referred to any more and are counted; any other is
// wrong.
func (c *check) listings(ctx context.Context) error {
	for _, prefix := range []string{"insert_log/", "delta_log/", "stats_log/", checkpoints.ManifestPrefix} {
		for info, err := range c.archive.bucket.List(ctx, prefix) {
			if err != nil {
				return err
			}
			if err := c.listed(ctx, info); err != nil {
				return err
			}
			if c.counted != nil {
				c.counted()
			}
		}
	}
	return nil
}

func (c *check) listed(ctx context.Context, info checkpoints.Info) error {
	if r, chunk, ok := checkpoints.ParseManifestKey(info.Key); ok && strings.HasPrefix(info.Key, checkpoints.ManifestPrefix) {
		if chunk == "" { // all manifests were read
			return nil
		}
		if ref := c.refs[r]; ref != nil && (ref.damaged || ref.chunks[info.Key]) {
			return nil
		}
		return c.unreferenced(ctx, info, chunk)
	}
	r, field, log, ok := parseDataKey(info.Key)
	if !ok {
		c.problem("%s is no object of an archive", info.Key)
		return nil
	}
	ref := c.refs[r]
	if ref != nil && (ref.damaged || info.Key == ref.compound) {
		return nil // also of one that has no manifest yet
	}
	if ref == nil || !ref.logs[log] || !ref.has(info.Key, field) {
		return c.unreferenced(ctx, info, log)
	}
	return nil
}

// has says whether the segment has files of this kind.
func (r *references) has(key string, field int64) bool {
	switch {
	case strings.HasPrefix(key, "delta_log/"):
		return r.level == checkpoints.L0
	case strings.HasPrefix(key, "stats_log/"):
		return r.pkField != 0 && field == r.pkField
	}
	return r.level == checkpoints.L1 && slices.Contains(r.fields, field)
}

// parseDataKey reads <kind>/<collection>/<partition>/<segment>/[<field>/]<log ID>.
func parseDataKey(key string) (r checkpoints.SegmentRef, field int64, log string, ok bool) {
	parts := strings.Split(key, "/")
	numbers := make([]int64, len(parts))
	for i, p := range parts[1:] {
		n, err := strconv.ParseInt(p, 10, 64)
		if err != nil {
			return r, 0, "", false
		}
		numbers[i+1] = n
	}
	switch deletes := parts[0] == "delta_log"; {
	case deletes && len(parts) == 5:
	case !deletes && len(parts) == 6:
		field = numbers[4]
	default:
		return r, 0, "", false
	}
	r = checkpoints.SegmentRef{Collection: numbers[1], Partition: numbers[2], Segment: numbers[3]}
	return r, field, parts[len(parts)-1], true
}

// unreferenced judges an object that nothing refers to by the metadata of its
// writer, which its log ID must agree with.
func (c *check) unreferenced(ctx context.Context, info checkpoints.Info, log string) error {
	stat, err := c.archive.bucket.Stat(ctx, info.Key)
	if errors.Is(err, checkpoints.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	vchannel := stat.Meta[checkpoints.MetaVChannel]
	epoch, _ := strconv.ParseInt(stat.Meta[checkpoints.MetaEpoch], 10, 64)
	doc := c.archive.doc(vchannel)
	late, err := c.uploadedSince(ctx, vchannel, epoch, log)
	if err != nil {
		return err
	}
	switch {
	case late:
		c.report.UnderWay++
	case doc == nil || epoch <= 0 || log != checkpoints.CompoundStats && epochOf(log) != epoch:
		c.problem("%s is referred to by nothing, and its metadata (vchannel %q, epoch %d) do not tell why it is there", info.Key, vchannel, epoch)
	case epoch > doc.Epoch:
		c.problem("%s is of epoch %d, the document of %s of epoch %d", info.Key, epoch, vchannel, doc.Epoch)
	case epoch == doc.Epoch && !c.partial:
		c.problem("%s is referred to by nothing, although its epoch %d is the last of %s", info.Key, epoch, vchannel)
	default:
		c.report.Unreferenced++
		c.report.UnreferencedBytes += info.Size
	}
	return nil
}

// uploadedSince says whether an object is of a claim that has not ended, or
// was made after the document was read: what is stored now may refer to it, or
// what will be.
func (c *check) uploadedSince(ctx context.Context, vchannel string, epoch int64, log string) (bool, error) {
	v := c.archive.VChannel(vchannel)
	if !c.partial || vchannel == "" || epoch <= 0 || log != checkpoints.CompoundStats && epochOf(log) != epoch || v != nil && v.Doc == nil {
		return false, nil
	}
	if v != nil && epoch <= v.Doc.Epoch {
		return epoch == v.Doc.Epoch, nil
	}
	return c.moved(ctx, vchannel, func(d *checkpoints.Document) bool { return epoch <= d.Epoch })
}

// epochOf is the epoch in a log ID of 18 digits, 0 if it is none.
func epochOf(log string) int64 {
	if len(log) != 18 || log[0] != '1' {
		return 0
	}
	n, err := strconv.ParseInt(log[1:8], 10, 64)
	if err != nil {
		return 0
	}
	return n
}
