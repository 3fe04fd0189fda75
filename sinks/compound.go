package sinks

import (
	"context"
	"fmt"

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
	return PutCompound(ctx, s.Bucket, seg, meta)
}

// PutCompound stores the key statistics of all flushes of a final segment as
// one object, a JSON array under log ID 1, which is all that Milvus' loaders
// read where it is listed. It is made of the stored objects alone, so that
// whoever makes it makes the same, and it is never replaced.
func PutCompound(ctx context.Context, b checkpoints.Bucket, seg *checkpoints.Segment, meta map[string]string) error {
	key := seg.CompoundKey()
	if key == "" {
		return nil
	}
	logs, _, err := checkpoints.LoadLogs(ctx, b, seg)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	parts := make([][]byte, 2*len(logs)+1) // [ object , object ... ]
	group, getCtx := errgroup.WithContext(ctx)
	group.SetLimit(uploads)
	for i, l := range logs {
		parts[2*i] = []byte(",")
		group.Go(func() (err error) {
			parts[2*i+1], err = flushStats(getCtx, b, seg, l)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	parts[0], parts[2*len(logs)] = []byte("["), []byte("]")
	_, err = b.Put(ctx, key, checkpoints.Object{Parts: parts, Meta: meta}, checkpoints.Condition{})
	return err
}

// flushStats reads the key statistics of one flush. What is damaged must not
// be copied: with the compound object there nobody reads the others.
func flushStats(ctx context.Context, b checkpoints.Bucket, seg *checkpoints.Segment, l checkpoints.Log) ([]byte, error) {
	key := checkpoints.StatsLogKey(seg.Collection, seg.Partition, seg.ID, seg.PKField, l.ID)
	data, _, err := b.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	stats, err := binlog.ReadKeyStats(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	if len(stats) != 1 || data[0] != '{' || stats[0].Field != seg.PKField {
		return nil, fmt.Errorf("%s: not the statistics of one flush of field %d: %w", key, seg.PKField, binlog.ErrCorrupt)
	}
	return data, nil
}
