package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"flowgraph/internal/archive"
)

// Options say how it is written.
type Options struct {
	Dir           string // in which the collection's folder is made
	Replace       bool   // a folder that is there
	SystemColumns bool   // RowID and Timestamp before the others
	// Progress, which may be nil, is told how many of all stored rows were
	// looked at, live or not.
	Progress func(done, total int64)
}

// Result is what was written.
type Result struct {
	Dir   string // the collection's folder
	Files []File // in the order of the partitions
}

// File is one partition's file.
type File struct {
	Partition int64
	Name      string // of the partition
	Path      string
	Rows      int64
	Bytes     int64
}

// systemFields stand first in every row.
const systemFields = 2

// Write makes <Dir>/<collection>/<partition>.parquet for every partition. The
// folder is there when all of it is; after an error or when ctx ends nothing
// is left.
func Write(ctx context.Context, l *archive.Live, o Options) (*Result, error) {
	e := &exporter{live: l, options: o}
	if !o.SystemColumns {
		e.skip = systemFields
	}
	var err error
	if e.schema, err = schemaOf(l.Fields[e.skip:], e.older); err != nil {
		return nil, err
	}
	name := cmp.Or(l.Name, strconv.FormatInt(l.Collection, 10))
	if e.folder, err = newFolder(o.Dir, name, o.Replace); err != nil {
		return nil, err
	}
	for _, p := range l.Partitions {
		e.total += p.Stored
	}
	result := &Result{Dir: e.folder.name}
	for _, p := range l.Partitions {
		f, err := e.partition(ctx, p)
		if err != nil {
			return nil, errors.Join(err, e.folder.abort())
		}
		result.Files = append(result.Files, f)
	}
	err = ctx.Err()
	if err == nil {
		err = e.folder.commit()
	}
	if err != nil {
		return nil, errors.Join(err, e.folder.abort())
	}
	return result, nil
}

type exporter struct {
	live        *archive.Live
	options     Options
	schema      *arrow.Schema
	skip        int // fields that are not written
	folder      *folder
	done, total int64 // stored rows
}

// older says whether there are rows without this field.
func (e *exporter) older(id int64) bool {
	for _, p := range e.live.Partitions {
		for _, s := range p.Segments {
			if !slices.Contains(s.Fields, id) {
				return true
			}
		}
	}
	return false
}

// partition writes one partition's file.
func (e *exporter) partition(ctx context.Context, p *archive.LivePartition) (File, error) {
	out, err := e.folder.create(p.Name, strconv.FormatInt(p.ID, 10))
	if err != nil {
		return File{}, err
	}
	counted := &counter{w: out}
	rows, err := e.rows(ctx, p, counted)
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return File{}, fmt.Errorf("partition %s: %w", cmp.Or(p.Name, strconv.FormatInt(p.ID, 10)), err)
	}
	return File{p.ID, p.Name, filepath.Join(e.folder.name, filepath.Base(out.Name())), rows, counted.n}, nil
}

func (e *exporter) rows(ctx context.Context, p *archive.LivePartition, out io.Writer) (int64, error) {
	f, err := newFile(out, e.schema, e.live.Fields, e.skip)
	if err != nil {
		return 0, err
	}
	for row, err := range e.live.Rows(ctx, p, e.read) {
		if err != nil {
			return 0, err
		}
		if err := f.append(row); err != nil {
			return 0, err
		}
	}
	err = errors.Join(
		f.note("collection", e.live.Name), f.noteNumber("collection_id", e.live.Collection),
		f.note("partition", p.Name), f.noteNumber("partition_id", p.ID), f.note("until", strconv.FormatUint(e.live.Until, 10)),
	)
	if err != nil {
		return 0, err
	}
	return f.rows, f.close()
}

func (e *exporter) read(rows int64) {
	e.done += rows
	if e.options.Progress != nil {
		e.options.Progress(e.done, e.total)
	}
}

// counter counts what is written. It has no Close: the Parquet writer would
// use it, and the file must be synced before.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}
