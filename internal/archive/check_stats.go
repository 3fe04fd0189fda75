package archive

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/checkpoints"
	"flowgraph/sinks/binlog"
	"flowgraph/stages/column"
)

// compoundStats reads the key statistics of all flushes, which a segment with
// a manifest has.
func (s *segmentCheck) compoundStats(ctx context.Context, flushes int) error {
	key := s.seg.CompoundKey()
	if key == "" || !s.seg.InManifest {
		return nil
	}
	file, err := s.archive.file(ctx, key)
	if err != nil {
		return err
	}
	s.report.Objects++
	s.report.Bytes += file.Size
	if v := file.Meta[checkpoints.MetaVChannel]; v != s.seg.VChannel {
		s.problem("%s: its metadata say vchannel %q", key, v)
	}
	if len(file.Keys) != flushes {
		return fmt.Errorf("%s: statistics of %d flushes, the segment has %d: %w", key, len(file.Keys), flushes, ErrDamaged)
	}
	s.compound = file.Keys
	return nil
}

// keyStats holds a flush's key statistics, and its part of the compound ones,
// against its keys: a filter that leaves a key out would hide deletes from it.
func (s *segmentCheck) keyStats(f *Flush) {
	at := slices.Index(s.seg.Fields, s.seg.PKField)
	if s.seg.PKField == 0 || at < 0 {
		return
	}
	keys := f.Columns[at]
	for _, file := range f.Files {
		if file.Keys != nil {
			s.keysIn(file.Key, file.Keys, keys)
		}
	}
	if s.compound != nil {
		s.keysIn(s.seg.CompoundKey(), s.compound[s.flushed-1:s.flushed], keys)
	}
}

func (s *segmentCheck) keysIn(name string, stats []binlog.KeyStats, keys *column.Column) {
	if len(stats) != 1 || stats[0].Field != s.seg.PKField {
		s.problem("%s: not the statistics of one flush of field %d", name, s.seg.PKField)
		return
	}
	var lo, hi []byte
	for key := range keys.Values() {
		if !stats[0].MayHold(key) {
			s.problem("%s: it denies key %x, which is there", name, key)
			return
		}
		if lo == nil || less(keys.Field.Type, key, lo) {
			lo = key
		}
		if hi == nil || less(keys.Field.Type, hi, key) {
			hi = key
		}
	}
	if !bytes.Equal(stats[0].Min, lo) || !bytes.Equal(stats[0].Max, hi) {
		s.problem("%s: it says keys %x to %x, there are %x to %x", name, stats[0].Min, stats[0].Max, lo, hi)
	}
}

func less(t column.Type, a, b []byte) bool {
	if t == schemapb.DataType_Int64 {
		return column.Int64(a) < column.Int64(b)
	}
	return bytes.Compare(a, b) < 0
}
