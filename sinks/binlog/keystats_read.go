package binlog

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/bits-and-blooms/bloom/v3"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/stages/column"
)

// KeyStats are the statistics of the primary keys of one flush.
type KeyStats struct {
	Field    int64
	Type     column.Type // Int64 or VarChar
	Min, Max []byte      // as column.Values yields them
	Kind     FilterKind
	Hashes   int   // of the filter
	Bits     int64 // of the filter
	filter   filter
}

// MayHold says whether the flush may hold a key, which is given as
// column.Values yields it. False is certain.
func (s *KeyStats) MayHold(key []byte) bool {
	if s.Type == schemapb.DataType_Int64 && len(key) != 8 {
		return false
	}
	if s.compare(key, s.Min) < 0 || s.compare(key, s.Max) > 0 {
		return false
	}
	return s.filter == nil || s.filter.has(key)
}

// AppendKey appends a key, which is given as Min and Max are, as AppendJSON
// renders it.
func (s *KeyStats) AppendKey(dst, key []byte) ([]byte, error) {
	return AppendJSON(dst, keyField(s.Type), key, true)
}

func (s *KeyStats) compare(a, b []byte) int {
	if s.Type == schemapb.DataType_Int64 {
		return cmp.Compare(column.Int64(a), column.Int64(b))
	}
	return bytes.Compare(a, b)
}

// keyStatsFile is a statistics object as any Milvus wrote it.
type keyStatsFile struct {
	Field  int64           `json:"fieldID"`
	Kind   int             `json:"bfType"` // absent up to 2.3
	Filter filterFile      `json:"bf"`
	Type   column.Type     `json:"pkType"` // absent in 2.1, which has max and min alone
	Max    json.RawMessage `json:"max"`
	Min    json.RawMessage `json:"min"`
	MaxKey json.RawMessage `json:"maxPk"`
	MinKey json.RawMessage `json:"minPk"`
}

type filterFile struct {
	M uint64          `json:"m"`
	K uint64          `json:"k"`
	B json.RawMessage `json:"b"`
}

// ReadKeyStats reads a statistics object: of one flush, or with log ID 1 of
// all flushes of a segment, oldest first. It fails with ErrCorrupt, or with
// ErrUnsupported for a filter of unknown kind.
func ReadKeyStats(b []byte) ([]KeyStats, error) {
	files := []keyStatsFile{{}}
	var err error
	if b = bytes.TrimSpace(b); len(b) > 0 && b[0] == '[' {
		err = json.Unmarshal(b, &files)
	} else {
		err = json.Unmarshal(b, &files[0])
	}
	if err != nil {
		return nil, fmt.Errorf("%w: key statistics: %w", ErrCorrupt, err)
	}
	out := make([]KeyStats, len(files))
	for i := range files {
		if out[i], err = files[i].read(); err != nil {
			return nil, fmt.Errorf("key statistics of field %d: %w", files[i].Field, err)
		}
	}
	return out, nil
}

func (f *keyStatsFile) read() (s KeyStats, err error) {
	s = KeyStats{Field: f.Field, Type: f.Type}
	if s.Type == 0 {
		s.Type = schemapb.DataType_Int64
	}
	if s.Type != schemapb.DataType_Int64 && s.Type != schemapb.DataType_VarChar {
		return s, fmt.Errorf("%w: keys of type %d", ErrCorrupt, s.Type)
	}
	if len(f.MaxKey) == 0 && len(f.MinKey) == 0 {
		f.MaxKey, f.MinKey = f.Max, f.Min
	}
	if s.Max, err = s.bound(f.MaxKey); err != nil {
		return s, err
	}
	if s.Min, err = s.bound(f.MinKey); err != nil {
		return s, err
	}
	switch f.Kind {
	case 0, typeBasic:
		s.Kind = BasicFilter
		s.filter, err = f.Filter.basic()
	case typeBlocked:
		s.Kind = BlockedFilter
		s.filter, err = f.Filter.blocked()
	case typeAlwaysTrue:
		s.Kind = AlwaysTrue
		return s, nil
	default:
		return s, fmt.Errorf("%w: filter of type %d", ErrUnsupported, f.Kind)
	}
	if err != nil {
		return s, err
	}
	s.Hashes, s.Bits = s.filter.hashes(), s.filter.bits()
	return s, nil
}

// bound reads a key: a number or a string.
func (s *KeyStats) bound(raw json.RawMessage) ([]byte, error) {
	if s.Type == schemapb.DataType_Int64 {
		var v *int64
		if err := json.Unmarshal(raw, &v); err != nil || v == nil {
			return nil, fmt.Errorf("%w: bound %.50q", ErrCorrupt, raw)
		}
		return binary.LittleEndian.AppendUint64(nil, uint64(*v)), nil
	}
	var v *string
	if err := json.Unmarshal(raw, &v); err != nil || v == nil {
		return nil, fmt.Errorf("%w: bound %.50q", ErrCorrupt, raw)
	}
	return []byte(*v), nil
}

func (f *filterFile) basic() (filter, error) {
	var text string
	if err := json.Unmarshal(f.B, &text); err != nil {
		return nil, fmt.Errorf("%w: filter: %w", ErrCorrupt, err)
	}
	raw, err := base64.URLEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%w: filter: %w", ErrCorrupt, err)
	}
	if len(raw) < 16 || f.K == 0 || f.K > maxHashes {
		return nil, fmt.Errorf("%w: filter of %d bytes, %d hashes", ErrCorrupt, len(raw), f.K)
	}
	words := raw[8:]
	if m := binary.BigEndian.Uint64(raw); m != f.M || m == 0 || uint64(len(words))*8 < m || uint64(len(words)) != (m-1)/64*8+8 {
		return nil, fmt.Errorf("%w: filter of %d bits in %d bytes", ErrCorrupt, f.M, len(words))
	}
	set := make([]uint64, len(words)/8)
	for i := range set {
		set[i] = binary.BigEndian.Uint64(words[8*i:])
	}
	return basicFilter{bloom.FromWithM(set, uint(f.M), uint(f.K))}, nil
}

func (f *filterFile) blocked() (filter, error) {
	var text []string
	if err := json.Unmarshal(f.B, &text); err != nil {
		return nil, fmt.Errorf("%w: filter: %w", ErrCorrupt, err)
	}
	if len(text) == 0 || f.K == 0 || f.K > maxHashes {
		return nil, fmt.Errorf("%w: filter of %d blocks, %d hashes", ErrCorrupt, len(text), f.K)
	}
	blocks := make([]byte, 0, min(len(f.B), len(text)*blockBytes))
	for i := range text {
		var err error
		if blocks, err = base64.URLEncoding.AppendDecode(blocks, []byte(text[i])); err != nil || len(blocks) != (i+1)*blockBytes {
			return nil, fmt.Errorf("%w: block %d of the filter", ErrCorrupt, i)
		}
	}
	return &blockedFilter{k: int(f.K), blocks: blocks}, nil
}
