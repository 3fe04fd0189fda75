package stages

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"flowgraph/checkpoints"
	"flowgraph/stages/column"
	"flowgraph/stages/wire"
)

// collection is what the buffer keeps of one collection.
type collection struct {
	id      int64
	raw     []byte
	channel string         // Milvus' own name of the shard: that of the first message
	schema  *column.Schema // nil: never seen
	deletes []column.Field
	lastDDL int64
	// horizon is the AutoEnd of rows per partition in the document that the
	// flow started from. Below it no assigned segment is sealed but by a drop:
	// a seal found there was made in an earlier life or is not for this
	// segment, and a row rerouted there would be taken for persisted.
	horizon map[int64]int64
	newest  map[int64]int64 // per partition, the Start of its newest assigned segment
	views   []*wire.Field   // scratch
}

func emptyCollection(id int64) *collection {
	return &collection{id: id, lastDDL: -1, horizon: map[int64]int64{}, newest: map[int64]int64{}}
}

// newCollection goes on from what the document has of a collection.
func newCollection(id int64, doc *checkpoints.Collection) (*collection, error) {
	c := emptyCollection(id)
	c.lastDDL = doc.LastDDL
	for pid, p := range doc.Partitions {
		c.horizon[pid] = p.AutoEnd
	}
	if len(doc.Schema) == 0 {
		return c, nil
	}
	return c, c.learn(doc.Schema)
}

// learnChannel takes the shard's name from a message. It is for people and
// for Milvus' tools: a log may be replayed under another name, so nothing is
// decided by it.
func (c *collection) learnChannel(shard []byte) {
	if c.channel == "" {
		c.channel = string(shard)
	}
}

func (c *collection) learn(raw []byte) error {
	schema, err := column.ParseSchema(raw)
	if err != nil {
		return fmt.Errorf("collection %d: %w", c.id, err)
	}
	c.raw, c.schema, c.deletes = raw, schema, deleteFields(schema.Key)
	return nil
}

// event lets DDL and seals take effect. Its cuts come first and do not pass
// it: only the cut that carries the event moves the position beyond it.
func (b *Buffer) event(e *Event) error {
	b.limit = &e.Position
	defer func() { b.limit = nil }()
	if e.Seal != nil {
		b.seal(e)
		b.limit = nil
		b.emit(&Cut{})
		return nil
	}
	c := b.collections[e.Collection]
	if c != nil && e.Offset <= c.lastDDL {
		return nil // read again: the document has it
	}
	switch e.Kind {
	case checkpoints.CreateCollection, checkpoints.AlterCollection:
		if len(e.Schema) == 0 {
			break // a new name
		}
		if c != nil && bytes.Equal(c.raw, e.Schema) {
			return nil // the copy of another shard
		}
		b.sealAll(Sealed, func(s *segment) bool { return s.meta.Collection == e.Collection })
		b.limit = nil
		return b.register(e)
	case checkpoints.DropCollection:
		b.sealAll(DroppedDDL, func(s *segment) bool { return s.meta.Collection == e.Collection })
		c = nil // no row of it comes any more
	case checkpoints.DropPartition:
		b.sealAll(DroppedDDL, func(s *segment) bool { return s.place() == place{e.Collection, e.Partition} })
	}
	if c == nil {
		c = emptyCollection(e.Collection)
		b.collections[e.Collection] = c
	}
	c.lastDDL, b.limit = e.Offset, nil
	b.emitEvent(e)
	return nil
}

// register takes over a schema and hands it on to the document.
func (b *Buffer) register(e *Event) error {
	c := b.collections[e.Collection]
	if c == nil {
		c = emptyCollection(e.Collection)
	}
	if err := c.learn(e.Schema); err != nil {
		return err
	}
	b.collections[e.Collection] = c
	c.lastDDL = e.Offset
	b.emitEvent(e)
	return nil
}

func (b *Buffer) emitEvent(e *Event) {
	event := e.Event
	b.emit(&Cut{Change: checkpoints.Change{Event: &event}})
}

// seal is an explicit seal in the log or by request. Found in replay it is
// not for segments whose rows all lie behind it.
func (b *Buffer) seal(e *Event) {
	b.sealAll(Sealed, func(s *segment) bool {
		return !s.meta.Auto && b.mayBeSealed(s) && s.meta.Start.Compare(e.Position) < 0 &&
			(e.Seal.Collection == 0 || e.Seal.Collection == s.meta.Collection) &&
			(len(e.Seal.Segments) == 0 || slices.Contains(e.Seal.Segments, s.meta.ID))
	})
}

// sealAll seals the chosen open segments in order of their IDs.
func (b *Buffer) sealAll(reason Reason, chosen func(*segment) bool) {
	for _, s := range b.inOrder() {
		if chosen(s) {
			b.cut(s, reason, true)
		}
	}
}

// inOrder lists the open segments by ID: the buffer's output may not depend
// on the order of a map.
func (b *Buffer) inOrder() []*segment {
	out := make([]*segment, 0, len(b.open))
	for _, s := range b.open {
		out = append(out, s)
	}
	slices.SortFunc(out, func(x, y *segment) int { return cmp.Compare(x.meta.ID, y.meta.ID) })
	return out
}

// mayBeSealed holds an assigned segment's seal back below the horizon of its
// partition.
func (b *Buffer) mayBeSealed(s *segment) bool {
	if s.meta.Auto {
		return true
	}
	c := b.collections[s.meta.Collection]
	return c == nil || b.pack.Start.Offset >= c.horizon[s.meta.Partition]
}
