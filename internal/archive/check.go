package archive

import (
	"context"
	"errors"
	"fmt"

	"flowgraph/checkpoints"
)

// CheckOptions say how strict a check is.
type CheckOptions struct {
	// Partial: the logs were not read to their ends, or the worker did not
	// end by itself. Rows above the positions that the documents hold may be
	// missing, and objects of the last epoch may be referred to by nothing.
	Partial bool
	// MaxProblems is how many problems are told in words; 0: 20.
	MaxProblems int
}

// Check reads the whole bucket and compares it with what was produced: every
// row and delete exactly once, in its segment and inside that segment's
// range, every byte of every field equal, every object that is referred to
// whole, nothing else beside them. The bucket must be at rest. An error means
// that the store did not answer; what is wrong with its content is in the
// report.
func Check(ctx context.Context, b checkpoints.Bucket, want *Expected, o CheckOptions) (*Report, error) {
	a, err := Open(ctx, b)
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	c := newCheck(a, want, o)
	if c.items, err = newSpool(itemSize, ""); err != nil {
		return nil, err
	}
	if err := c.run(ctx, c.logs, c.quarantine, c.segments, c.whole, c.match, c.rerouted, c.ddl, c.listings, c.atRest); err != nil {
		return nil, err
	}
	return c.report, nil
}

func newCheck(a *Archive, want *Expected, o CheckOptions) *check {
	if o.MaxProblems == 0 {
		o.MaxProblems = 20
	}
	return &check{
		archive: a, want: want, digest: newDigester(), partial: o.Partial, atOnce: matchAtOnce, fresh: map[string]*checkpoints.Document{},
		refs: map[checkpoints.SegmentRef]*references{}, left: map[string]int64{}, late: map[late]int64{},
		report: &Report{VChannels: len(a.vchannels), Repeated: want.Repeated, Excluded: want.Excluded, limit: o.MaxProblems},
	}
}

func (c *check) run(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return fmt.Errorf("check: %w", err)
		}
	}
	return nil
}

// check is one check under way.
type check struct {
	archive *Archive
	want    *Expected
	items   *spool          // what is stored
	checks  []*segmentCheck // by the number that items have
	report  *Report
	digest  digester
	partial bool
	atOnce  int                              // entries compared together
	read    func(rows int64)                 // called after each flush, with its rows; may be nil
	counted func()                           // called for each object that is listed; may be nil
	fresh   map[string]*checkpoints.Document // as they were read later, by vchannel
	refs    map[checkpoints.SegmentRef]*references
	left    map[string]int64 // manifests of what has left the documents, by vchannel
	late    map[late]int64   // rerouted rows
}

// late are rows of one record that are not in the segment it names.
type late struct {
	named    checkpoints.SegmentRef
	identity int64
}

func (c *check) problem(format string, args ...any) { c.report.problem(format, args...) }

// tolerate turns what an object is into a problem; what the store could not
// answer stays an error.
func (c *check) tolerate(err error) error {
	if err == nil || !damaged(err) {
		return err
	}
	c.problem("%v", err)
	return nil
}

// logs compares the documents with the logs as a whole.
func (c *check) logs(context.Context) error {
	for _, v := range c.archive.vchannels {
		switch {
		case v.Err != nil:
			c.problem("%v", v.Err)
		case !v.Born && (v.Doc.Epoch > 1 || v.Doc.Sequence > 0): // else its first claim was broken off, and the next one makes it
			c.problem("%s is missing", checkpoints.BornKey(v.Name))
		}
	}
	for name, l := range c.want.logs {
		v := c.archive.VChannel(name)
		switch {
		case v == nil && !c.partial:
			c.problem("%s has no document, although %d records were produced", name, l.last-l.first+1)
		case v == nil || v.Doc == nil || l.last < 0 || c.partial:
		case v.Doc.Seek.Offset <= l.last:
			c.problem("%s: the seek position is %d, the last record is at %d", name, v.Doc.Seek.Offset, l.last)
		}
	}
	return nil
}

// atRest makes sure that what was compared was one state.
func (c *check) atRest(ctx context.Context) error {
	for _, v := range c.archive.vchannels {
		info, err := c.archive.bucket.Stat(ctx, checkpoints.DocumentKey(v.Name))
		if err != nil && !errors.Is(err, checkpoints.ErrNotExist) {
			return err
		}
		if v.Err == nil && info.ETag != v.ETag {
			c.problem("%s: the document changed during the check; nothing may write meanwhile", v.Name)
		}
	}
	return nil
}
