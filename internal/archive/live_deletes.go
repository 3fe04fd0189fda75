package archive

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/checkpoints"
	"flowgraph/stages/column"
)

// allPartitions is the partition of deletes that concern all of a vchannel.
const allPartitions = -1

// scope is where a delete works.
type scope struct {
	vchannel  string
	partition int64
}

// deletes hold for every key deleted the timestamp of its last delete up to a
// moment, and no more: a row is removed if any delete is later than it, so
// only the last one decides.
type deletes struct {
	numbers map[scope]map[int64]uint64
	texts   map[scope]map[string]uint64
}

func (d *deletes) add(at scope, text bool, key []byte, ts uint64) {
	if text {
		keep(d.texts, at, string(key), ts)
	} else {
		keep(d.numbers, at, column.Int64(key), ts)
	}
}

// keep keeps the later of a key's deletes.
func keep[K comparable](all map[scope]map[K]uint64, at scope, key K, ts uint64) {
	if all[at] == nil {
		all[at] = map[K]uint64{}
	}
	if ts > all[at][key] {
		all[at][key] = ts
	}
}

// last is when the key was last deleted there or in all partitions; 0: never.
func (d *deletes) last(vchannel string, partition int64, text bool, key []byte) uint64 {
	here, all := scope{vchannel, partition}, scope{vchannel, allPartitions}
	if text {
		return max(d.texts[here][string(key)], d.texts[all][string(key)])
	}
	k := column.Int64(key)
	return max(d.numbers[here][k], d.numbers[all][k])
}

// flushOf is one flush of a segment.
type flushOf struct {
	segment *LiveSegment
	log     checkpoints.Log
}

func flushesOf(segments []*LiveSegment) iter.Seq2[flushOf, error] {
	return func(yield func(flushOf, error) bool) {
		for _, s := range segments {
			for _, f := range s.Flushes {
				if !yield(flushOf{s, f}, nil) {
					return
				}
			}
		}
	}
}

// readDeletes reads those that can concern the partitions.
func (l *Live) readDeletes(ctx context.Context, segments []*LiveSegment) error {
	l.deletes = deletes{map[scope]map[int64]uint64{}, map[scope]map[string]uint64{}}
	segments = slices.DeleteFunc(segments, func(s *LiveSegment) bool {
		return s.Level != checkpoints.L0 || s.Partition != allPartitions && !l.has(s.Partition)
	})
	type read struct {
		at    scope
		flush *Flush
	}
	do := func(ctx context.Context, f flushOf) (read, error) {
		flush, err := l.archive.Flush(ctx, f.segment.Segment, f.log)
		return read{scope{f.segment.VChannel, f.segment.Partition}, flush}, err
	}
	for r, err := range ordered(ctx, files, flushesOf(segments), do) {
		if err != nil {
			return err
		}
		if isText(r.flush.Columns[0].Field) != l.textKey() {
			return fmt.Errorf("%s: keys of type %s: %w", r.flush.Files[0].Key, r.flush.Columns[0].Field.Type, ErrDamaged)
		}
		for d := range r.flush.Deletes() {
			if d.Timestamp <= l.Until {
				l.deletes.add(r.at, l.textKey(), d.Key, d.Timestamp)
			}
		}
	}
	return ctx.Err()
}

func (l *Live) has(partition int64) bool {
	return slices.ContainsFunc(l.Partitions, func(p *LivePartition) bool { return p.ID == partition })
}

func (l *Live) textKey() bool { return isText(l.Fields[l.key].Field) }

func isText(f column.Field) bool { return f.Type != schemapb.DataType_Int64 }

// Deleted is when a key was last deleted by the moment in a vchannel's
// partition, or in all of them; 0 if never. Rows with a smaller timestamp are
// not live.
func (l *Live) Deleted(vchannel string, partition int64, key []byte) uint64 {
	return l.deletes.last(vchannel, partition, l.textKey(), key)
}
