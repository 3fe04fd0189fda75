package checkpoints

import (
	"errors"
	"fmt"
	"math"
)

// check refuses a document that contradicts itself. It is called before a
// document is stored and after one is read.
func (d *Document) check() error {
	switch {
	case d.Version < d.formatVersion() || d.Version > cutVersion:
		return fmt.Errorf("version %d: %w", d.Version, ErrInvalid)
	case d.VChannel == "" || d.TopicID == "" || d.Owner == "":
		return fmt.Errorf("vchannel, topic ID or owner is empty: %w", ErrInvalid)
	case (VChannel{Topic: d.Topic, Partition: d.Partition}).Name() != d.VChannel:
		return fmt.Errorf("topic %q and partition %d are not vchannel %q: %w", d.Topic, d.Partition, d.VChannel, ErrInvalid)
	case d.Epoch < 1 || d.Epoch > MaxEpoch || d.Sequence < 0:
		return fmt.Errorf("epoch %d, sequence %d: %w", d.Epoch, d.Sequence, ErrInvalid)
	case d.Collections == nil || d.Segments == nil:
		return fmt.Errorf("collections or segments are missing: %w", ErrInvalid)
	}
	if err := d.ReadFrom.check(); err != nil {
		return fmt.Errorf("read_from: %w", err)
	}
	if err := d.Seek.check(); err != nil {
		return fmt.Errorf("seek_position: %w", err)
	}
	if err := d.Reached.check(); err != nil {
		return fmt.Errorf("reached: %w", err)
	}
	for _, c := range d.CutBacks {
		if err := c.At.check(); err != nil || c.TopicID == "" {
			return fmt.Errorf("a place where the log was cut back: %w", errors.Join(err, ErrInvalid))
		}
	}
	for _, b := range d.Earlier {
		if err := errors.Join(b.ReadFrom.check(), b.Seek.check()); err != nil {
			return fmt.Errorf("an earlier read_from: %w", err)
		}
	}
	if d.ReadFrom.Offset > d.Seek.Offset {
		return fmt.Errorf("read_from %d is above seek position %d: %w", d.ReadFrom.Offset, d.Seek.Offset, ErrInvalid)
	}
	return d.checkParts()
}

func (d *Document) checkParts() error {
	for id, c := range d.Collections {
		if err := c.check(); err != nil {
			return fmt.Errorf("collection %d: %w", id, err)
		}
	}
	for id, s := range d.Segments {
		if err := d.checkSegment(id, s); err != nil {
			return fmt.Errorf("segment %d: %w", id, err)
		}
	}
	places := make(map[eventPlace]bool, len(d.Events))
	for _, e := range d.Events {
		if err := e.check(); err != nil {
			return err
		}
		if places[e.place()] {
			return fmt.Errorf("two DDL events at offset %d: %w", e.Offset, ErrInvalid)
		}
		places[e.place()] = true
	}
	return nil
}

// checkOffset refuses what is no place in a log: the sentinels of other
// systems (-1, -2, the greatest number) have no meaning here.
func checkOffset(offset int64) error {
	if offset < 0 || offset == math.MaxInt64 {
		return fmt.Errorf("%d is not an offset: %w", offset, ErrInvalid)
	}
	return nil
}

func (p Position) check() error {
	if p.LeaderEpoch < -1 {
		return fmt.Errorf("leader epoch %d: %w", p.LeaderEpoch, ErrInvalid)
	}
	return checkOffset(p.Offset)
}

func (c *Collection) check() error {
	if c == nil || c.Partitions == nil {
		return fmt.Errorf("no entry: %w", ErrInvalid)
	}
	if c.LastDDL < -1 || c.LastDDL == math.MaxInt64 || c.SchemaOffset < -1 || c.SchemaOffset == math.MaxInt64 {
		return fmt.Errorf("last DDL %d, schema offset %d: %w", c.LastDDL, c.SchemaOffset, ErrInvalid)
	}
	if err := c.Dropped.check(); err != nil {
		return err
	}
	for id, p := range c.Partitions {
		if p == nil {
			return fmt.Errorf("partition %d: no entry: %w", id, ErrInvalid)
		}
		for _, err := range []error{checkOffset(p.AutoEnd), checkOffset(p.AutoEndDelete), p.Dropped.check()} {
			if err != nil {
				return fmt.Errorf("partition %d: %w", id, err)
			}
		}
	}
	return nil
}

func (d *Drop) check() error {
	if d == nil {
		return nil
	}
	return checkOffset(d.Offset)
}

// checkSegment is Segment.check and its place in the document.
func (d *Document) checkSegment(id int64, s *Segment) error {
	if s == nil {
		return fmt.Errorf("no entry: %w", ErrInvalid)
	}
	if s.ID != id {
		return fmt.Errorf("its entry is of segment %d: %w", s.ID, ErrInvalid)
	}
	if err := s.check(); err != nil {
		return err
	}
	if end := d.EndOf(s).Offset; s.Auto && end > d.autoEnd(s) {
		return fmt.Errorf("end %d is above its partition's auto end %d: %w", end, d.autoEnd(s), ErrInvalid)
	}
	if s.State < Flushed && s.Generation != d.Generation() {
		return fmt.Errorf("open, but of generation %d of the log, not %d: %w", s.Generation, d.Generation(), ErrInvalid)
	}
	return nil
}

// check refuses half a range, rows without logs and logs without rows.
func (s *Segment) check() error {
	logged := len(s.Logs)+len(s.Chunks) > 0
	switch {
	case s.ID <= 0:
		return fmt.Errorf("segment ID %d: %w", s.ID, ErrInvalid)
	case s.Level != L0 && s.Level != L1:
		return fmt.Errorf("level %d: %w", s.Level, ErrInvalid)
	case s.State < New || s.State > Dropped:
		return fmt.Errorf("state %d: %w", s.State, ErrInvalid)
	case s.Generation < 0:
		return fmt.Errorf("generation %d: %w", s.Generation, ErrInvalid)
	case s.Rows < 0 || s.Bytes < 0:
		return fmt.Errorf("%d rows, %d bytes: %w", s.Rows, s.Bytes, ErrInvalid)
	case s.Rows > 0 && !logged:
		return fmt.Errorf("%d rows and no logs: %w", s.Rows, ErrInvalid)
	case s.Rows == 0 && logged:
		return fmt.Errorf("logs and no rows: %w", ErrInvalid)
	case s.State == New && (logged || s.End.Offset != 0):
		return fmt.Errorf("new, but with an end or logs: %w", ErrInvalid)
	case s.State == Normal && !logged:
		return fmt.Errorf("normal, but nothing persisted: %w", ErrInvalid)
	}
	for _, p := range []Position{s.Start, s.End} {
		if err := p.check(); err != nil {
			return err
		}
	}
	if err := s.checkRange(); err != nil {
		return err
	}
	return s.checkEntries()
}

// checkRange wants [Start, End) to hold what is persisted. Only a segment
// that was dropped before any cut is final without an End.
func (s *Segment) checkRange() error {
	switch {
	case s.State == New || s.State == Dropped && s.neverCut() && s.Rows == 0:
		return nil
	case s.neverCut():
		return fmt.Errorf("state %d without an end: %w", s.State, ErrInvalid)
	case s.End.Offset < s.Start.Offset || s.Rows > 0 && s.End.Offset == s.Start.Offset:
		return fmt.Errorf("%d rows, end %d is below start %d: %w", s.Rows, s.End.Offset, s.Start.Offset, ErrInvalid)
	}
	return nil
}

func (s *Segment) checkEntries() error {
	var rows int64
	for _, l := range s.Logs {
		rows += l.Rows
	}
	if rows > s.Rows || rows < s.Rows && len(s.Chunks) == 0 {
		return fmt.Errorf("%d rows, %d in its logs: %w", s.Rows, rows, ErrInvalid)
	}
	for _, c := range s.Chunks {
		if !isLogID(c) {
			return fmt.Errorf("chunk %q: %w", c, ErrInvalid)
		}
	}
	return checkLogs(s.Logs)
}

// checkLogs wants log IDs of one width that rise: Milvus sorts them as
// strings and pairs the fields' files by place.
func checkLogs(logs []Log) error {
	for i, l := range logs {
		if !isLogID(l.ID) || l.Rows <= 0 || l.Bytes < 0 {
			return fmt.Errorf("log %q of %d rows, %d bytes: %w", l.ID, l.Rows, l.Bytes, ErrInvalid)
		}
		if i > 0 && l.ID <= logs[i-1].ID {
			return fmt.Errorf("log %s after log %s: %w", l.ID, logs[i-1].ID, ErrInvalid)
		}
	}
	return nil
}

func isLogID(s string) bool {
	if len(s) != 18 || s[0] != '1' {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
