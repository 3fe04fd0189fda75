package restore

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/sinks/binlog"
	"flowgraph/stages/column"
)

// copies is how many objects are staged at a time.
const copies = 16

// Stage is where objects lie for Milvus to import: a bucket that it reads,
// under a path of its own.
type Stage interface {
	checkpoints.Bucket
	// Copy stores an object of the archive under a key of the stage.
	Copy(ctx context.Context, source, key string) error
	// Remove deletes an object; an absent one is a success.
	Remove(ctx context.Context, key string) error
	// Path is the key that an object of the stage has in Milvus' bucket.
	Path(key string) string
}

// stager puts what an import reads under the prefix of its batch.
type stager struct {
	plan    *Plan
	moved   map[int64]int64 // IDs of fields in the target, where they are others
	archive checkpoints.Bucket
	stage   Stage
	encoder binlog.Encoder
	staged  func() // after every flush
}

// inserts and deletes are the two prefixes of a batch; below each lies a
// folder a segment, and nothing else.
func inserts(prefix string, s *archive.LiveSegment) string {
	return fmt.Sprintf("%sinsert_log/%d/%d/", prefix, s.Collection, s.Partition)
}

func deletes(prefix string, s *archive.LiveSegment) string {
	return fmt.Sprintf("%sdelta_log/%d/%d/", prefix, s.Collection, s.Partition)
}

// batch stages everything of one import, or only its deletes. It may be done
// again: the same archive gives the same objects.
func (st *stager) batch(ctx context.Context, prefix string, b batch, rows bool) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(copies)
	for _, s := range b.segments {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error { return st.deltas(ctx, prefix, s) })
		for i := range s.Flushes {
			g.Go(func() (err error) {
				if rows {
					err = st.flush(ctx, prefix, s, i)
				}
				if err == nil {
					st.staged()
				}
				return err
			})
		}
	}
	return g.Wait()
}

// flush stages one flush, with the same files for every field of the schema:
// Milvus zips the i-th files of all fields together.
func (st *stager) flush(ctx context.Context, prefix string, s *archive.LiveSegment, i int) error {
	if _, cut := st.plan.end(); cut && s.Flushes[i].MaxTS > st.plan.Live.Until || s.Resent() {
		return st.cut(ctx, prefix, s, i)
	}
	log := s.Flushes[i]
	for _, f := range st.plan.Live.Fields {
		key := st.key(prefix, s, f.ID, log.ID)
		if !slices.Contains(s.Fields, f.ID) {
			if err := st.missing(ctx, key, f, s, log, int(log.Rows)); err != nil {
				return err
			}
			continue
		}
		if err := st.file(ctx, checkpoints.InsertLogKey(s.Collection, s.Partition, s.ID, f.ID, log.ID), key, f.ID); err != nil {
			return err
		}
	}
	return nil
}

// id is a field's in the target.
func (st *stager) id(field int64) int64 {
	if to, other := st.moved[field]; other {
		return to
	}
	return field
}

func (st *stager) key(prefix string, s *archive.LiveSegment, field int64, log string) string {
	return fmt.Sprintf("%s%d/%d/%s", inserts(prefix, s), s.ID, st.id(field), log)
}

// file stages one file of a field, under the field's ID in the target, which
// also stands in the file.
func (st *stager) file(ctx context.Context, source, key string, field int64) error {
	if st.id(field) == field {
		return st.stage.Copy(ctx, source, key)
	}
	data, _, err := st.archive.Get(ctx, source)
	if err != nil {
		return err
	}
	if err := binlog.Renumber(data, st.id(field)); err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	_, err = checkpoints.Replace(ctx, st.stage, key, checkpoints.Object{Parts: [][]byte{data}})
	return err
}

// cut stages those rows of a flush that are not later than the moment and do
// not count elsewhere.
func (st *stager) cut(ctx context.Context, prefix string, s *archive.LiveSegment, i int) error {
	flush, err := st.plan.Live.Flush(ctx, s, i)
	if err != nil {
		return err
	}
	var keep []bool
	rows, log := 0, s.Flushes[i]
	log.MaxTS = log.MinTS
	for r := range flush.Rows() {
		ts := r.Timestamp
		keep = append(keep, ts <= st.plan.Live.Until && !s.Again(r.ID, ts))
		if keep[len(keep)-1] {
			rows, log.MaxTS = rows+1, max(log.MaxTS, ts)
		}
	}
	for _, f := range st.plan.Live.Fields {
		key := st.key(prefix, s, f.ID, log.ID)
		at := slices.Index(s.Fields, f.ID)
		if at < 0 {
			err = st.missing(ctx, key, f, s, log, rows)
		} else {
			err = st.encode(ctx, key, kept(flush.Columns[at], keep), s, log)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func kept(c *column.Column, keep []bool) *column.Column {
	out := column.New(c.Field)
	var pool column.Pool
	i := 0
	for v, ok := range c.Values() {
		if keep[i] {
			put(out, &pool, v, ok)
		}
		i++
	}
	return out
}

func put(c *column.Column, pool *column.Pool, v []byte, ok bool) {
	switch {
	case !ok:
		c.AppendNull(pool)
	case c.Field.Width() > 0:
		c.AppendFixed(pool, v)
	default:
		c.AppendBytes(pool, v)
	}
}

// missing stages a field that is younger than the segment.
func (st *stager) missing(ctx context.Context, key string, f archive.LiveField, s *archive.LiveSegment, log checkpoints.Log, rows int) error {
	if f.Default == nil && !f.Nullable {
		return fmt.Errorf("%w: segment %d has no field %s, which has no default and cannot be null", ErrArchive, s.ID, f.Name)
	}
	c := column.New(f.Field)
	var pool column.Pool
	for range rows {
		put(c, &pool, f.Default, f.Default != nil)
	}
	return st.encode(ctx, key, c, s, log)
}

func (st *stager) encode(ctx context.Context, key string, c *column.Column, s *archive.LiveSegment, log checkpoints.Log) error {
	meta := binlog.Meta{Collection: s.Collection, Partition: s.Partition, Segment: s.ID, MinTS: log.MinTS, MaxTS: log.MaxTS}
	c.Field.ID = st.id(c.Field.ID)
	file, err := st.encoder.Encode(meta, c)
	if err != nil {
		return fmt.Errorf("stage %s: %w", key, err)
	}
	defer file.Free()
	_, err = checkpoints.Replace(ctx, st.stage, key, checkpoints.Object{Parts: file.Parts, CRC32C: &file.CRC32C})
	return err
}

// missing lists the schema's fields that a segment does not have.
func (p *Plan) missing(s *archive.LiveSegment) []int64 {
	var ids []int64
	for _, f := range p.Live.Fields {
		if !slices.Contains(s.Fields, f.ID) {
			ids = append(ids, f.ID)
		}
	}
	return ids
}
