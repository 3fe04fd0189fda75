package archive

import (
	"fmt"

	"flowgraph/stages/column"
)

// LiveField is a field of live rows.
type LiveField struct {
	column.Field
	// Default is the value of rows that are older than the field, as
	// column.Values yields one; nil is a null.
	Default []byte
}

// readSchema makes the fields of the schema in force at the moment. Outputs of
// functions that Milvus computes behind the log are none of them.
func (l *Live) readSchema() error {
	if len(l.Raw) == 0 {
		return fmt.Errorf("collection %d: no document or event has its schema: %w", l.Collection, ErrDamaged)
	}
	schema, err := column.ParseSchema(l.Raw)
	if err != nil {
		return err
	}
	for i, f := range schema.Fields {
		if f.ID == schema.Key.ID {
			l.key = i
		}
		l.Fields = append(l.Fields, LiveField{Field: f, Default: schema.Absent[i]})
	}
	return nil
}
