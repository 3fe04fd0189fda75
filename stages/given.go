package stages

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	"flowgraph/checkpoints"
	"flowgraph/stages/column"
)

// SchemaSource is asked for the schema of a collection whose rows are met
// before its creation: the log's beginning has expired.
type SchemaSource interface {
	// Given answers with what it has. An error that is ErrUnknownCollection
	// stands until somebody does something, one that is ErrNoAnswer may be
	// gone at the next try.
	Given(ctx context.Context, collection int64) (*Given, error)
}

// Given is a collection as something else than the log tells of it.
type Given struct {
	Schema     []byte // serialized schemapb.CollectionSchema
	Name       string
	Partitions map[int64]string // by ID
	// Doubtful is what a Milvus has now, which may be another schema than the
	// rows were written under: if the first of them does not fit, it is the
	// schema that is not taken, and not the row that is a bad record.
	Doubtful bool
	From     string // who gave it, for errors
}

// GivenSchemas are serialized schemas by collection, of a configuration.
type GivenSchemas map[int64][]byte

// Given answers at once.
func (g GivenSchemas) Given(_ context.Context, collection int64) (*Given, error) {
	if raw := g[collection]; raw != nil {
		return &Given{Schema: raw}, nil
	}
	return nil, fmt.Errorf("%w: no schema is given for it", ErrUnknownCollection)
}

// known returns the collection of a message. One without a schema is asked
// for; what is given enters the document as an event at the message's place.
// A life that reads it again finds it there, or asks again before any row of
// it is stored: no row is ever held against another schema than the one that
// the document has for it.
func (b *Buffer) known(ctx context.Context, id int64, m *Message) (*collection, error) {
	c := b.collections[id]
	if c != nil && c.schema != nil {
		return c, nil
	}
	given, err := b.given(ctx, id)
	if err == nil && given.Doubtful {
		err = given.fits(m)
	}
	if err != nil {
		return nil, fmt.Errorf("collection %d at offset %d: %w", id, m.Record.Offset, err)
	}
	// Rows of this pack from here on are not placed yet: the cut may not pass them.
	b.limit = &m.Identity
	defer func() { b.limit = nil }()
	if err := b.register(given.event(id, m)); err != nil {
		return nil, err
	}
	return b.collections[id], nil
}

func (b *Buffer) given(ctx context.Context, id int64) (*Given, error) {
	if b.cfg.Schemas == nil {
		return nil, ErrUnknownCollection
	}
	return b.cfg.Schemas.Given(ctx, id)
}

// event stands in the document where the creation would. Its time is the last
// that the log told before the message, else that of the message.
func (g *Given) event(collection int64, m *Message) *Event {
	e := &Event{}
	e.Kind, e.Given, e.Offset, e.Timestamp = checkpoints.CreateCollection, true, m.Identity.Offset, m.Identity.Tick
	e.Collection, e.Schema, e.Name, e.Partitions = collection, g.Schema, g.Name, maps.Clone(g.Partitions)
	if m.Insert != nil {
		e.Timestamp = cmp.Or(e.Timestamp, m.Insert.MinTS)
	} else if m.Delete != nil {
		e.Timestamp = cmp.Or(e.Timestamp, m.Delete.MinTS)
	}
	return e
}

// fits says whether the message that asks for the schema was written under it.
func (g *Given) fits(m *Message) error {
	schema, err := column.ParseSchema(g.Schema)
	if err == nil && m.Insert != nil {
		columns, broken := m.Insert.Columns(nil)
		if broken != nil {
			return nil // of no schema's making
		}
		_, err = fit(schema, m.Insert, columns, nil)
	}
	if err == nil && m.Delete != nil {
		err = fitDelete(schema.Key, m.Delete)
	}
	if err != nil {
		return fmt.Errorf("%w: %s gives a schema that its rows do not fit: %w", ErrUnknownCollection, g.From, err)
	}
	return nil
}
