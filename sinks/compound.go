package sinks

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"flowgraph/checkpoints"
	"flowgraph/sinks/binlog"
)

const (
	// settlingBytes is what the compound objects under way of a worker may
	// hold in memory together. A larger one is made alone.
	settlingBytes = 32 << 20
	// statsPerKey is about the size of key statistics, in bytes.
	statsPerKey = 4
)

// Compound is PutCompound for the flows of a worker: it waits for its share
// of memory, since many segments may be sealed at once.
func (s *Shared) Compound(ctx context.Context, seg *checkpoints.Segment, meta map[string]string) error {
	n := min(settlingBytes, statsPerKey*seg.Rows)
	if err := s.settling.Acquire(ctx, n); err != nil {
		return err
	}
	defer s.settling.Release(n)
	c := compound{bucket: s.Bucket, encoder: s.Encoder, filter: s.Filter, rebuilt: s.Rebuilt, seg: seg}
	return c.put(ctx, meta)
}

// PutCompound stores the key statistics of all flushes of a final segment as
// one object, a JSON array under log ID 1, which is all that Milvus' loaders
// read where it is listed. It is made of the stored objects alone, so that
// whoever makes it makes the same, and it is never replaced. What is missing
// or damaged of them is made anew from the keys.
func PutCompound(ctx context.Context, b checkpoints.Bucket, seg *checkpoints.Segment, meta map[string]string) error {
	c := compound{bucket: b, encoder: &binlog.Encoder{}, seg: seg}
	return c.put(ctx, meta)
}

// compound is one such object on its way.
type compound struct {
	bucket  checkpoints.Bucket
	encoder *binlog.Encoder
	filter  binlog.FilterKind           // of what is made anew, if the other flushes do not tell
	rebuilt func(key string, why error) // nil: nobody wants to know
	seg     *checkpoints.Segment
	logs    []checkpoints.Log
	stats   [][]byte // by flush
	lost    []error  // by flush: why its statistics must be made anew
}

func (c *compound) put(ctx context.Context, meta map[string]string) (err error) {
	key := c.seg.CompoundKey()
	if key == "" {
		return nil
	}
	if c.logs, _, err = checkpoints.LoadLogs(ctx, c.bucket, c.seg); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	if err := c.read(ctx); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	if err := c.rebuild(ctx); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	parts := make([][]byte, 0, 2*len(c.logs)+1) // [ object , object ... ]
	for _, s := range c.stats {
		parts = append(parts, []byte(","), s)
	}
	parts = append(parts, []byte("]"))
	parts[0] = []byte("[")
	_, err = c.bucket.Put(ctx, key, checkpoints.Object{Parts: parts, Meta: meta}, checkpoints.Condition{})
	if errors.Is(err, checkpoints.ErrConflict) && slices.ContainsFunc(c.lost, func(why error) bool { return why != nil }) {
		err = c.accept(ctx, key, err)
	}
	if err == nil {
		c.tell()
	}
	return err
}

// read reads the key statistics of all flushes. What is damaged must not be
// copied: with the compound object there nobody reads the others.
func (c *compound) read(ctx context.Context) error {
	c.stats, c.lost = make([][]byte, len(c.logs)), make([]error, len(c.logs))
	kinds := make([]*binlog.FilterKind, len(c.logs))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(uploads)
	for i, l := range c.logs {
		group.Go(func() error {
			data, kind, err := c.flushStats(ctx, l)
			if errors.Is(err, checkpoints.ErrNotExist) || errors.Is(err, binlog.ErrCorrupt) {
				c.lost[i] = err
				return nil
			}
			c.stats[i], kinds[i] = data, &kind
			return err
		})
	}
	err := group.Wait()
	for _, kind := range kinds {
		if kind != nil {
			c.filter = *kind // which the Milvus that reads this segment knows
		}
	}
	return err
}

func (c *compound) flushStats(ctx context.Context, l checkpoints.Log) ([]byte, binlog.FilterKind, error) {
	key := c.statsKey(l)
	data, _, err := c.bucket.Get(ctx, key)
	if err != nil {
		return nil, 0, err
	}
	stats, err := binlog.ReadKeyStats(data)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", key, err)
	}
	if len(stats) != 1 || data[0] != '{' || stats[0].Field != c.seg.PKField {
		return nil, 0, fmt.Errorf("%s: not the statistics of one flush of field %d: %w", key, c.seg.PKField, binlog.ErrCorrupt)
	}
	return data, stats[0].Kind, nil
}

func (c *compound) statsKey(l checkpoints.Log) string {
	return checkpoints.StatsLogKey(c.seg.Collection, c.seg.Partition, c.seg.ID, c.seg.PKField, l.ID)
}
