package restore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/sinks/binlog"
	"flowgraph/stages/column"
)

// deltasPerFile bounds the memory of one delta log.
const deltasPerFile = 1 << 20

// deleted is one key with the timestamp of its last delete.
type deleted struct {
	key []byte
	ts  uint64
}

// deltas stages the deletes that may concern a segment: those of its vchannel,
// in its partition or in all, whose key it may hold and that are later than
// its first row. An import pairs them with the segment by its ID.
func (st *stager) deltas(ctx context.Context, prefix string, s *archive.LiveSegment) error {
	may, err := st.mayHold(ctx, s)
	if err != nil {
		return err
	}
	first := uint64(math.MaxUint64)
	for _, f := range s.Flushes {
		first = min(first, f.MinTS)
	}
	var list []deleted
	for key, ts := range st.plan.Live.Deletes(s.VChannel, s.Partition) {
		if ts > first && may(key) {
			list = append(list, deleted{bytes.Clone(key), ts})
		}
	}
	slices.SortFunc(list, func(x, y deleted) int { return cmp.Or(bytes.Compare(x.key, y.key), cmp.Compare(x.ts, y.ts)) })
	for n := 0; len(list) > 0; n++ {
		part := list[:min(len(list), deltasPerFile)]
		list = list[len(part):]
		key := fmt.Sprintf("%s%d/%018d", deletes(prefix, s), s.ID, 100_000_000_000_000_000+n)
		if err := st.delta(ctx, key, s, part); err != nil {
			return err
		}
	}
	return nil
}

func (st *stager) delta(ctx context.Context, key string, s *archive.LiveSegment, list []deleted) error {
	var pool column.Pool
	keys := column.New(st.plan.Live.Key().Field)
	times := column.New(column.Field{ID: column.Timestamp, Name: "ts", Type: schemapb.DataType_Int64})
	m := binlog.Meta{Collection: s.Collection, Partition: s.Partition, Segment: s.ID, MinTS: math.MaxUint64}
	for _, d := range list {
		put(keys, &pool, d.key, true)
		times.AppendInt64(&pool, int64(d.ts), 1)
		m.MinTS, m.MaxTS = min(m.MinTS, d.ts), max(m.MaxTS, d.ts)
	}
	file, err := st.encoder.EncodeDeltas(m, keys, times)
	if err != nil {
		return fmt.Errorf("stage %s: %w", key, err)
	}
	defer file.Free()
	_, err = checkpoints.Replace(ctx, st.stage, key, checkpoints.Object{Parts: file.Parts, CRC32C: &file.CRC32C})
	return err
}

// mayHold asks the key statistics of the segment's flushes; a segment without
// may hold every key, and so may one whose statistics are lost: deletes that
// concern nothing cost space alone.
func (st *stager) mayHold(ctx context.Context, s *archive.LiveSegment) (func([]byte) bool, error) {
	every := func([]byte) bool { return true }
	if s.PKField == 0 {
		return every, nil
	}
	var stats []binlog.KeyStats
	for _, f := range s.Flushes {
		key := checkpoints.StatsLogKey(s.Collection, s.Partition, s.ID, s.PKField, f.ID)
		data, _, err := st.archive.Get(ctx, key)
		if errors.Is(err, checkpoints.ErrNotExist) {
			return every, nil
		}
		if err != nil {
			return nil, err
		}
		of, err := binlog.ReadKeyStats(data)
		if errors.Is(err, binlog.ErrCorrupt) {
			return every, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		stats = append(stats, of...)
	}
	return func(key []byte) bool {
		return slices.ContainsFunc(stats, func(k binlog.KeyStats) bool { return k.MayHold(key) })
	}, nil
}
