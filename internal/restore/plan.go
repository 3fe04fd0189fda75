// Package restore brings a collection from the bucket back into a running
// Milvus as of any moment: it makes the collection, stages the binlogs and the
// deletes that concern them in the bucket that Milvus reads, and lets Milvus
// import them.
package restore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/proto"

	"flowgraph/internal/archive"
)

// maxSegments is how many segments Milvus takes in one import.
const maxSegments = 1024

// counterBits are the bits of a hybrid timestamp below its milliseconds.
const counterBits = 18

// Plan is what a restore does, made from the archive alone.
type Plan struct {
	Live       *archive.Live
	Schema     *schemapb.CollectionSchema // in force at the moment
	Shards     int
	Partitions []Partition
	Warnings   []string
	batches    []batch
}

// Partition is one partition of a plan.
type Partition struct {
	*archive.LivePartition
	Name  string // in the target
	Rows  int64  // live at the moment
	Bytes int64  // of all files of its flushes
}

// batch is what one import takes.
type batch struct {
	partition string
	segments  []*archive.LiveSegment
	whole     bool // no other batch is of this partition
}

// NewPlan counts what is to be restored; it reads all keys for that. read,
// which may be nil, is told how many of all stored rows were looked at.
func NewPlan(ctx context.Context, live *archive.Live, read func(done, total int64)) (*Plan, error) {
	p := &Plan{Live: live, Schema: new(schemapb.CollectionSchema), Shards: len(live.VChannels)}
	if err := proto.Unmarshal(live.Raw, p.Schema); err != nil {
		return nil, fmt.Errorf("schema of collection %d: %w", live.Collection, err)
	}
	var done, total int64
	for _, part := range live.Partitions {
		total += part.Stored
	}
	tell := func(n int64) {
		if done += n; read != nil {
			read(done, total)
		}
	}
	for _, part := range live.Partitions {
		rows, err := live.Count(ctx, part, tell)
		if err != nil {
			return nil, err
		}
		p.add(part, rows)
	}
	p.warn()
	return p, nil
}

func (p *Plan) add(part *archive.LivePartition, rows int64) {
	out := Partition{LivePartition: part, Name: cmp.Or(part.Name, "partition_"+strconv.FormatInt(part.ID, 10)), Rows: rows}
	for _, s := range part.Segments {
		for _, f := range s.Flushes {
			out.Bytes += f.Bytes
		}
	}
	if part.Name == "" && part.Stored == 0 {
		return // one of a partition key's, which the target makes by itself
	}
	p.Partitions = append(p.Partitions, out)
	for rest := part.Segments; len(rest) > 0; {
		n := min(len(rest), maxSegments)
		p.batches = append(p.batches, batch{out.Name, rest[:n], n == len(part.Segments)})
		rest = rest[n:]
	}
}

// Total sums up all partitions.
func (p *Plan) Total() (segments, stored, rows, bytes int64) {
	for _, part := range p.Partitions {
		segments += int64(len(part.Segments))
		stored, rows, bytes = stored+part.Stored, rows+part.Rows, bytes+part.Bytes
	}
	return segments, stored, rows, bytes
}

// Imports is how many requests Milvus gets.
func (p *Plan) Imports() int { return len(p.batches) }

// digest tells plans apart that would import something else.
func (p *Plan) digest() string {
	h := sha256.New()
	for _, b := range p.batches {
		fmt.Fprintf(h, "partition %q\n", b.partition)
		for _, s := range b.segments {
			fmt.Fprintf(h, "%d", s.ID)
			for _, f := range s.Flushes {
				fmt.Fprintf(h, " %s:%d", f.ID, f.Rows)
			}
			fmt.Fprintln(h)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// warn says what a restore cannot bring back.
func (p *Plan) warn() {
	warn := func(format string, args ...any) { p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...)) }
	if autoID(p.Schema) {
		warn("the keys are made by Milvus (autoID): a Milvus up to 2.5 gives every row a new one, later ones keep them")
	}
	for _, name := range computed(p.Schema) {
		warn("what function %s computes is not in the log, and an import of Milvus does not compute it: it can come back only without it", name)
	}
	for _, part := range p.Partitions {
		if part.LivePartition.Name == "" {
			warn("the log does not name partition %d: it becomes %s", part.ID, part.Name)
		}
	}
	old := 0
	for _, b := range p.batches {
		for _, s := range b.segments {
			if len(p.missing(s)) > 0 {
				old++
			}
		}
	}
	if old > 0 {
		warn("%d segments are older than some fields of the schema: their rows get the default or null", old)
	}
}

// end is what Milvus is told as the last moment of an import, in milliseconds,
// 0 for none: rows and deletes behind it are left out. cut says that this is
// not exact, since the moment lies within a millisecond.
func (p *Plan) end() (ms uint64, cut bool) {
	switch until := p.Live.Until; {
	case until >= math.MaxInt64: // everything
		return 0, false
	case until&(1<<counterBits-1) == 0:
		return until >> counterBits, false
	default:
		return until>>counterBits + 1, true
	}
}

func autoID(s *schemapb.CollectionSchema) bool {
	return slices.ContainsFunc(s.GetFields(), func(f *schemapb.FieldSchema) bool { return f.GetIsPrimaryKey() && f.GetAutoID() })
}
