package archive

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/proto"

	"flowgraph/stages/column"
)

// LiveField is a field of live rows.
type LiveField struct {
	column.Field
	// Default is the value of rows that are older than the field, as
	// column.Values yields one; nil is a null.
	Default []byte
}

// readSchema makes the fields of the schema in force at the moment.
func (l *Live) readSchema() error {
	if len(l.Raw) == 0 {
		return fmt.Errorf("collection %d: no document or event has its schema: %w", l.Collection, ErrDamaged)
	}
	pb := new(schemapb.CollectionSchema)
	if err := proto.Unmarshal(l.Raw, pb); err != nil {
		return fmt.Errorf("schema of collection %d: %w", l.Collection, err)
	}
	schema, err := column.NewSchema(pb)
	if err != nil {
		return err
	}
	for _, f := range schema.Fields {
		field := LiveField{Field: f}
		if i := slices.IndexFunc(pb.GetFields(), func(p *schemapb.FieldSchema) bool { return p.GetFieldID() == f.ID }); i >= 0 {
			field.Default = defaultOf(f, pb.GetFields()[i].GetDefaultValue())
		}
		if f.ID == schema.Key.ID {
			l.key = len(l.Fields)
		}
		l.Fields = append(l.Fields, field)
	}
	return nil
}

// defaultOf is a default as a value of the field; nil if there is none.
func defaultOf(f column.Field, v *schemapb.ValueField) []byte {
	le := binary.LittleEndian
	switch d := v.GetData().(type) {
	case *schemapb.ValueField_BoolData:
		if d.BoolData {
			return []byte{1}
		}
		return []byte{0}
	case *schemapb.ValueField_IntData:
		return integer(f, int64(d.IntData))
	case *schemapb.ValueField_LongData:
		return integer(f, d.LongData)
	case *schemapb.ValueField_TimestamptzData:
		return integer(f, d.TimestamptzData)
	case *schemapb.ValueField_FloatData:
		if f.Type == schemapb.DataType_Double {
			return le.AppendUint64(nil, math.Float64bits(float64(d.FloatData)))
		}
		return le.AppendUint32(nil, math.Float32bits(d.FloatData))
	case *schemapb.ValueField_DoubleData:
		if f.Type == schemapb.DataType_Float {
			return le.AppendUint32(nil, math.Float32bits(float32(d.DoubleData)))
		}
		return le.AppendUint64(nil, math.Float64bits(d.DoubleData))
	case *schemapb.ValueField_StringData:
		return append([]byte{}, d.StringData...) // an empty one is not nil
	case *schemapb.ValueField_BytesData:
		return append([]byte{}, d.BytesData...)
	}
	return nil
}

func integer(f column.Field, v int64) []byte {
	if f.Width() == 4 {
		return binary.LittleEndian.AppendUint32(nil, uint32(v))
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(v))
}
