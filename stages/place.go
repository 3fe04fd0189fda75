package stages

import (
	"fmt"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/stages/column"
	"flowgraph/stages/wire"
)

// appendRows copies a message's rows into a segment's columns, which are in
// the schema's order as the views are. It is the one copy that a row's bytes
// see between the record and the file.
func appendRows(p *column.Pool, columns []*column.Column, m *wire.Insert, views []*wire.Field, absent [][]byte) error {
	for i, c := range columns {
		var err error
		switch {
		case c.Field.ID == column.RowID:
			_, err = c.AppendVarints(p, m.RowIDs)
		case c.Field.ID == column.Timestamp:
			err = appendTimestamps(p, c, m.Timestamps, m.Stamped, m.MaxTS, m.Rows)
		case views[i] == nil:
			appendAbsent(p, c, absent[i], m.Rows)
		case views[i].Valid != nil:
			err = appendNullable(p, c, views[i])
		default:
			err = appendField(p, c, views[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// appendAbsent gives rows the default of their field, or null.
func appendAbsent(p *column.Pool, c *column.Column, value []byte, rows uint64) {
	for range rows {
		switch {
		case value == nil:
			c.AppendNull(p)
		case c.Field.Width() > 0:
			c.AppendFixed(p, value)
		default:
			c.AppendBytes(p, value)
		}
	}
}

func appendField(p *column.Pool, c *column.Column, v *wire.Field) error {
	switch v.Kind {
	case wire.Bools, wire.Ints, wire.Longs, wire.Timestamptz:
		_, err := c.AppendVarints(p, v.Data)
		return err
	case wire.Floats, wire.Doubles, wire.FloatVector, wire.BinaryVector, wire.Float16Vector, wire.BFloat16Vector, wire.Int8Vector:
		c.AppendFixed(p, v.Data)
		return nil
	}
	for s := range v.Strings.All {
		c.AppendBytes(p, s)
	}
	return nil
}

// appendNullable copies a column with null marks: at a null row the message
// holds a placeholder, so values and marks go side by side.
func appendNullable(p *column.Pool, c *column.Column, v *wire.Field) error {
	plain := column.New(c.Field)
	defer plain.Free(p)
	if err := appendField(p, plain, v); err != nil {
		return err
	}
	marks := v.Valid
	for value := range plain.Values() {
		valid := marks[0] != 0
		marks = marks[1:]
		switch {
		case !valid:
			c.AppendNull(p)
		case c.Field.Width() > 0:
			c.AppendFixed(p, value)
		default:
			c.AppendBytes(p, value)
		}
	}
	return nil
}

// deleteFields are the two columns of a delete: key and timestamp.
func deleteFields(key column.Field) []column.Field {
	return []column.Field{key, {ID: column.Timestamp, Name: "Timestamp", Type: schemapb.DataType_Int64}}
}

// fitDelete says why a delete does not fit its collection.
func fitDelete(key column.Field, m *wire.Delete) error {
	if m.Rows > maxRows {
		return fmt.Errorf("%d keys in one message", m.Rows)
	}
	rows := int(m.Rows)
	if err := timestamps(m.Timestamps, m.Stamped, rows); err != nil {
		return err
	}
	if key.Width() > 0 {
		if m.StrKeys.Len() > 0 {
			return fmt.Errorf("keys are strings, those of the collection are numbers")
		}
		return counts("keys", m.IntKeys, rows)
	}
	if n := m.StrKeys.Len(); n != rows {
		return fmt.Errorf("%d string keys for %d rows", n, rows)
	}
	if !m.StrKeys.UTF8() {
		return fmt.Errorf("a key is not UTF-8")
	}
	return nil
}

func appendDeletes(p *column.Pool, columns []*column.Column, m *wire.Delete) error {
	keys, timestamps := columns[0], columns[1]
	if keys.Field.Width() > 0 {
		if _, err := keys.AppendVarints(p, m.IntKeys); err != nil {
			return err
		}
	} else {
		for s := range m.StrKeys.All {
			keys.AppendBytes(p, s)
		}
	}
	return appendTimestamps(p, timestamps, m.Timestamps, m.Stamped, m.MaxTS, m.Rows)
}

func appendTimestamps(p *column.Pool, c *column.Column, packed []byte, stamped bool, stamp, rows uint64) error {
	if stamped {
		c.AppendInt64(p, int64(stamp), int(rows))
		return nil
	}
	_, err := c.AppendVarints(p, packed)
	return err
}
