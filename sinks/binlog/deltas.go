package binlog

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/stages/column"
)

// multiField marks the delta log whose payload has a column each for keys
// and timestamps; its payload type says nothing about the key.
const multiField = "MULTI_FIELD"

var timestampField = column.Field{ID: column.Timestamp, Name: "ts", Type: schemapb.DataType_Int64}

func keyField(t column.Type) column.Field {
	return column.Field{ID: -1, Name: "pk", Type: t, PrimaryKey: true}
}

// deltas reads whichever of the three formats the payload is in.
func (p *payload) deltas(d Descriptor) (*Deltas, error) {
	schema := p.r.MetaData().Schema
	for i := range schema.NumColumns() {
		if schema.Column(i).MaxRepetitionLevel() > 0 {
			return nil, fmt.Errorf("%w: repeated values", ErrUnsupported)
		}
	}
	if d.Extras.Version == multiField || schema.NumColumns() == 2 {
		return p.deltaColumns()
	}
	if schema.NumColumns() != 1 || schema.Column(0).PhysicalType() != parquet.Types.ByteArray {
		return nil, fmt.Errorf("%w: delta log of %d columns", ErrUnsupported, schema.NumColumns())
	}
	rows, err := p.column(0, column.Field{Type: schemapb.DataType_String})
	if err != nil {
		return nil, err
	}
	var out textDeltas
	for v, ok := range rows.Values() {
		if !ok {
			return nil, fmt.Errorf("%w: delete without a key", ErrCorrupt)
		}
		if err := out.add(v); err != nil {
			return nil, err
		}
	}
	return out.result(), nil
}

func (p *payload) deltaColumns() (*Deltas, error) {
	schema := p.r.MetaData().Schema
	if schema.NumColumns() != 2 || schema.Column(1).PhysicalType() != parquet.Types.Int64 {
		return nil, fmt.Errorf("%w: delta log of %d columns", ErrUnsupported, schema.NumColumns())
	}
	var t column.Type
	switch schema.Column(0).PhysicalType() {
	case parquet.Types.Int64:
		t = schemapb.DataType_Int64
	case parquet.Types.ByteArray:
		t = schemapb.DataType_VarChar
	default:
		return nil, fmt.Errorf("%w: keys of %v", ErrUnsupported, schema.Column(0).PhysicalType())
	}
	keys, err := p.column(0, keyField(t))
	if err != nil {
		return nil, err
	}
	times, err := p.column(1, timestampField)
	if err != nil {
		return nil, err
	}
	for _, c := range []*column.Column{keys, times} {
		for i := range c.Pages {
			if c.Pages[i].Valid != nil {
				return nil, fmt.Errorf("%w: null in a delta log", ErrCorrupt)
			}
		}
	}
	return &Deltas{Keys: keys, Timestamps: times}, nil
}

// textDeltas collects rows like {"pk":-20,"ts":445644800000001000,"pkType":5}
// and, of very old files, like -20,445644800000001000.
type textDeltas struct {
	pool        column.Pool
	keys, times *column.Column
}

func (t *textDeltas) result() *Deltas {
	if t.keys == nil {
		t.begin(schemapb.DataType_Int64)
	}
	return &Deltas{Keys: t.keys, Timestamps: t.times}
}

func (t *textDeltas) begin(kind column.Type) {
	t.keys, t.times = column.New(keyField(kind)), column.New(timestampField)
}

func (t *textDeltas) add(row []byte) error {
	if pk, ts, ok := plainDelta(row); ok {
		return t.put(schemapb.DataType_Int64, binary.LittleEndian.AppendUint64(nil, uint64(pk)), ts)
	}
	var in struct {
		Key  json.RawMessage `json:"pk"`
		TS   uint64          `json:"ts"`
		Type column.Type     `json:"pkType"`
	}
	if err := json.Unmarshal(row, &in); err != nil {
		return fmt.Errorf("%w: delete %.100q: %w", ErrCorrupt, row, err)
	}
	if in.Type == schemapb.DataType_VarChar {
		var key string
		if err := json.Unmarshal(in.Key, &key); err != nil {
			return fmt.Errorf("%w: delete %.100q: %w", ErrCorrupt, row, err)
		}
		return t.put(in.Type, []byte(key), in.TS)
	}
	pk, err := strconv.ParseInt(string(in.Key), 10, 64)
	if err != nil || in.Type != schemapb.DataType_Int64 {
		return fmt.Errorf("%w: delete %.100q", ErrCorrupt, row)
	}
	return t.put(in.Type, binary.LittleEndian.AppendUint64(nil, uint64(pk)), in.TS)
}

func (t *textDeltas) put(kind column.Type, key []byte, ts uint64) error {
	if t.keys == nil {
		t.begin(kind)
	}
	if t.keys.Field.Type != kind {
		return fmt.Errorf("%w: keys of two types", ErrCorrupt)
	}
	if kind == schemapb.DataType_Int64 {
		t.keys.AppendFixed(&t.pool, key)
	} else {
		t.keys.AppendBytes(&t.pool, key)
	}
	var raw [8]byte
	binary.LittleEndian.PutUint64(raw[:], ts)
	t.times.AppendFixed(&t.pool, raw[:])
	return nil
}

// plainDelta reads an integer key in the exact form that writers use, with or
// without the JSON around it; anything else goes the long way.
func plainDelta(row []byte) (pk int64, ts uint64, ok bool) {
	if rest, isJSON := bytes.CutPrefix(row, []byte(`{"pk":`)); isJSON {
		if rest, isJSON = bytes.CutSuffix(rest, []byte(`,"pkType":5}`)); !isJSON {
			return 0, 0, false
		}
		row = rest
	}
	key, time, found := bytes.Cut(row, []byte(`,`))
	if !found {
		return 0, 0, false
	}
	time = bytes.TrimPrefix(time, []byte(`"ts":`))
	pk, err := strconv.ParseInt(string(key), 10, 64)
	if err != nil {
		return 0, 0, false
	}
	ts, err = strconv.ParseUint(string(time), 10, 64)
	return pk, ts, err == nil
}
