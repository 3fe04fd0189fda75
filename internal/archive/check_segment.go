package archive

import (
	"context"
	"errors"
	"math"
	"strconv"

	"flowgraph/checkpoints"
	"flowgraph/sinks/binlog"
)

// flushes is how many flushes of a segment are read ahead.
const flushes = 3

// references is what the check keeps of a segment's objects: what may lie
// under its keys.
type references struct {
	level    checkpoints.Level
	vchannel string
	sealed   bool
	end      int64
	fields   []int64
	pkField  int64
	compound string // key; "" while the segment may get another flush
	damaged  bool   // it is not known what it refers to
	logs     map[string]bool
	chunks   map[string]bool // keys
}

// segmentCheck is the check of one segment.
type segmentCheck struct {
	*check
	seg      *Segment
	place    int32 // -1: nothing was expected there
	first    int64 // smallest identity found
	lastID   int64 // of the last delete
	old      bool  // of an earlier log of the topic: its objects are read, its rows cannot be compared
	number   int32 // of items
	stored   int64 // items kept
	unknowns bool  // a row's identity is unknown, or the row itself
	compound []binlog.KeyStats
	end      int64 // of what its log still has of it
	tail     bool  // it also holds what that lost
	flushed  int   // flushes checked
}

func (c *check) segments(ctx context.Context) error {
	for s, err := range c.archive.Segments(ctx) {
		if err == nil {
			err = c.segment(ctx, s)
		}
		if err = c.tolerate(err); err != nil {
			return err
		}
	}
	return nil
}

func (c *check) segment(ctx context.Context, seg *Segment) error {
	c.report.Segments++
	if seg.State == checkpoints.Dropped {
		c.report.Dropped++
	}
	logs, chunks, err := c.archive.Logs(ctx, seg)
	c.refer(seg, logs, chunks)
	if err != nil {
		c.refs[seg.ref()].damaged = true
		return err
	}
	if err := errors.Join(c.owned(ctx, seg), c.ahead(ctx, seg)); err != nil {
		return err
	}
	if c.archive.expired[seg.Collection] {
		c.report.Expired++
		return nil
	}
	l := c.want.logs[seg.VChannel]
	if l == nil {
		c.report.Others++
		return nil
	}
	if doc := c.archive.doc(seg.VChannel); doc != nil && doc.TopicID != seg.TopicID {
		c.report.OtherLogs++
		return (&segmentCheck{check: c, seg: seg, place: -1, old: true}).flushes(ctx, logs)
	}
	end := c.archive.end(seg).Offset
	s := &segmentCheck{check: c, seg: seg, place: -1, first: math.MaxInt64, number: int32(len(c.checks)), end: end, tail: end < seg.End.Offset}
	c.checks = append(c.checks, s)
	if i, ok := c.want.index[placeOf{l, seg.Collection, seg.Partition}]; ok {
		s.place = i
	}
	return s.flushes(ctx, logs)
}

func (s *segmentCheck) flushes(ctx context.Context, logs []checkpoints.Log) error {
	if err := s.tolerate(s.compoundStats(ctx, len(logs))); err != nil {
		return err
	}
	read := func(ctx context.Context, l checkpoints.Log) (*Flush, error) { return s.archive.Flush(ctx, s.seg, l) }
	for f, err := range ordered(ctx, flushes, each(logs), read) {
		rows := logs[s.flushed].Rows // they come in the order of logs
		s.flushed++
		if err == nil {
			s.flush(f)
		}
		if s.read != nil {
			s.read(rows)
		}
		if err == nil {
			continue
		}
		s.unknowns = true
		if err = s.tolerate(err); err != nil {
			return err
		}
	}
	s.compound = nil // what is left of a check is small
	return s.items.err
}

// owned wants a manifest's vchannel to have a document, or to have lost it,
// which is told elsewhere.
func (c *check) owned(ctx context.Context, seg *Segment) error {
	if c.archive.VChannel(seg.VChannel) != nil {
		return nil
	}
	ok, err := c.moved(ctx, seg.VChannel, func(*checkpoints.Document) bool { return true })
	if err == nil && !ok {
		c.problem("%s is of vchannel %s, which has no document", seg.ManifestKey(), seg.VChannel)
	}
	return err
}

func (c *check) refer(s *Segment, logs []checkpoints.Log, chunks []string) {
	r := &references{
		level: s.Level, vchannel: s.VChannel, sealed: s.State >= checkpoints.Flushed, end: c.archive.end(s).Offset,
		fields: s.Fields, pkField: s.PKField, compound: s.CompoundKey(), logs: map[string]bool{}, chunks: map[string]bool{},
	}
	for _, l := range logs {
		r.logs[l.ID] = true
	}
	for _, key := range chunks {
		r.chunks[key] = true
	}
	if doc := c.archive.doc(s.VChannel); doc != nil && doc.TopicID != s.TopicID {
		r.end = 0 // Flushed with nothing of the log that is read now
	}
	c.refs[s.ref()] = r
}

func (s *Segment) ref() checkpoints.SegmentRef {
	return checkpoints.SegmentRef{Collection: s.Collection, Partition: s.Partition, Segment: s.ID}
}

// flush checks the files of one flush and finds its rows.
func (s *segmentCheck) flush(f *Flush) {
	s.files(f)
	s.keyStats(f)
	lo, hi := uint64(math.MaxUint64), uint64(0)
	if s.seg.Level == checkpoints.L0 {
		for d := range f.Deletes() {
			lo, hi = min(lo, d.Timestamp), max(hi, d.Timestamp)
			t := item{digest: s.digest.delete(s.place, d.Key, d.Timestamp), id: int64(d.Timestamp), kind: deleteEntry}
			s.keep(t)
		}
	} else {
		for r := range f.Rows() {
			lo, hi = min(lo, r.Timestamp), max(hi, r.Timestamp)
			s.keep(item{digest: s.digest.stored(s.place, s.seg.Fields, r), id: r.ID, kind: rowEntry})
		}
	}
	if lo != f.Log.MinTS || hi != f.Log.MaxTS {
		s.wrong("log %s holds timestamps %d to %d, its entry says %d to %d", f.Log.ID, lo, hi, f.Log.MinTS, f.Log.MaxTS)
	}
}

// keep notes a stored row or delete, to be compared later.
func (s *segmentCheck) keep(t item) {
	if s.old {
		s.report.Unread++
		return
	}
	t.segment, t.number = s.number, s.stored
	s.stored++
	t.keepIn(s.items, s.place)
}

// files holds a flush's files against its entry.
func (s *segmentCheck) files(f *Flush) {
	var size int64
	epoch := strconv.FormatInt(epochOf(f.Log.ID), 10)
	for _, file := range f.Files {
		size += file.Size
		if file.Binlog != nil {
			if d := file.Binlog.Descriptor; d.MinTS != f.Log.MinTS || d.MaxTS != f.Log.MaxTS {
				s.problem("%s: its header says timestamps %d to %d, the log entry %d to %d", file.Key, d.MinTS, d.MaxTS, f.Log.MinTS, f.Log.MaxTS)
			}
		}
		if m := file.Meta; m[checkpoints.MetaVChannel] != s.seg.VChannel || m[checkpoints.MetaEpoch] != epoch {
			s.problem("%s: its metadata say vchannel %q, epoch %q, not %q, %s", file.Key, m[checkpoints.MetaVChannel], m[checkpoints.MetaEpoch], s.seg.VChannel, epoch)
		}
	}
	s.report.Objects += int64(len(f.Files))
	s.report.Bytes += size
	if size != f.Log.Bytes {
		s.wrong("the files of log %s have %d bytes, its entry says %d", f.Log.ID, size, f.Log.Bytes)
	}
}

// position checks the segment's range as a whole.
func (s *segmentCheck) position() {
	known := !s.unknowns && s.seg.Start.Offset >= s.want.logs[s.seg.VChannel].blind
	if s.seg.Rows > 0 && known && s.seg.Start.Offset < s.end && s.first != s.seg.Start.Offset {
		s.wrong("it starts at %d, its first row is at %d", s.seg.Start.Offset, s.first)
	}
	if doc := s.archive.doc(s.seg.VChannel); doc != nil && !s.partial && s.end > doc.Seek.Offset {
		s.wrong("it ends at %d, above the seek position %d", s.end, doc.Seek.Offset)
	}
}

// wrong notes a problem of this segment.
func (s *segmentCheck) wrong(format string, args ...any) {
	s.problem("segment %d of %d/%d: "+format, append([]any{s.seg.ID, s.seg.Collection, s.seg.Partition}, args...)...)
}
