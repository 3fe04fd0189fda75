package archive

import (
	"context"
	"encoding/binary"
	"iter"
)

// Count counts the live rows of a partition; it reads only their keys and
// timestamps. read is as that of Rows.
func (l *Live) Count(ctx context.Context, p *LivePartition, read func(rows int64)) (int64, error) {
	var n int64
	fields := []LiveField{l.Fields[0], l.Fields[1], l.Fields[l.key]}
	for _, err := range l.scan(ctx, p, fields, read) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Key is the field of the primary key.
func (l *Live) Key() LiveField { return l.Fields[l.key] }

// Deletes yields every key that was deleted by the moment in a vchannel's
// partition, or in all of them, with the timestamp of its last delete there.
// A key deleted in both ways comes twice. The order is not fixed, and a key is
// used again for the next one.
func (l *Live) Deletes(vchannel string, partition int64) iter.Seq2[[]byte, uint64] {
	return func(yield func([]byte, uint64) bool) {
		var key []byte
		for _, at := range []scope{{vchannel, partition}, {vchannel, allPartitions}} {
			for k, ts := range l.deletes.numbers[at] {
				key = binary.LittleEndian.AppendUint64(key[:0], uint64(k))
				if !yield(key, ts) {
					return
				}
			}
			for k, ts := range l.deletes.texts[at] {
				key = append(key[:0], k...)
				if !yield(key, ts) {
					return
				}
			}
		}
	}
}

// DeletedKeys is how many deleted keys Live holds.
func (l *Live) DeletedKeys() int64 {
	var n int
	for _, m := range l.deletes.numbers {
		n += len(m)
	}
	for _, m := range l.deletes.texts {
		n += len(m)
	}
	return int64(n)
}

// PartitionsMade is how many partitions the collection ever had, as far as
// the log tells. With a partition key it had all of them from the beginning.
func (l *Live) PartitionsMade() int { return l.made }

// Flush reads one flush of one of its segments whole.
func (l *Live) Flush(ctx context.Context, s *LiveSegment, f int) (*Flush, error) {
	return l.archive.Flush(ctx, s.Segment, s.Flushes[f])
}
