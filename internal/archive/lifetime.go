package archive

import (
	"cmp"
	"context"
	"math"
	"slices"

	"flowgraph/checkpoints"
	"flowgraph/stages/column"
)

// never is the moment of a drop that has not been.
const never = math.MaxUint64

// dated is what something was from a hybrid timestamp on.
type dated[T any] struct {
	from  uint64
	value T
}

// at is what was in force at a moment: the latest from it or before, else the
// first that is known.
func at[T any](list []dated[T], moment uint64) (value T) {
	for i, d := range list {
		if i == 0 || d.from <= moment {
			value = d.value
		}
	}
	return value
}

// lifetime is what all vchannels together tell of one collection over time.
// Timestamps and not offsets join them: one DDL stands in every vchannel.
type lifetime struct {
	id         int64
	created    uint64 // 0: unknown
	since      uint64 // rows up to then are missing, since the log began later; 0: none
	dropped    uint64 // never
	names      []dated[string]
	schemas    []dated[[]byte]
	partitions map[int64]*partitionLife
	vchannels  []string // by name
}

// partitionLife is one partition of a lifetime. Milvus up to 2.3 does not say
// when one is created.
type partitionLife struct {
	name    string
	created uint64 // 0: unknown
	dropped uint64 // never
}

func (l *lifetime) alive(moment uint64) bool { return l.created <= moment && moment < l.dropped }

func (l *lifetime) partition(id int64) *partitionLife {
	p := l.partitions[id]
	if p == nil {
		p = &partitionLife{dropped: never}
		l.partitions[id] = p
	}
	return p
}

// lifetimes reads all DDL events, then what only the documents know. It fails
// where a document cannot be used: which collections it holds is not known,
// and an answer without them would pass for a whole one.
func (a *Archive) lifetimes(ctx context.Context) (map[int64]*lifetime, error) {
	lives := map[int64]*lifetime{}
	of := func(id int64, vchannel string) *lifetime {
		l := lives[id]
		if l == nil {
			l = &lifetime{id: id, dropped: never, partitions: map[int64]*partitionLife{}}
			lives[id] = l
		}
		if !slices.Contains(l.vchannels, vchannel) {
			l.vchannels = append(l.vchannels, vchannel)
		}
		return l
	}
	for _, v := range a.vchannels {
		if v.Err != nil {
			return nil, v.Err
		}
		for e, err := range a.Events(ctx, v) {
			if err != nil {
				return nil, err
			}
			of(e.Collection, v.Name).event(e)
		}
		for id, c := range v.Doc.Collections {
			of(id, v.Name).document(c)
		}
	}
	for _, l := range lives {
		slices.SortStableFunc(l.names, func(x, y dated[string]) int { return cmp.Compare(x.from, y.from) })
		slices.SortStableFunc(l.schemas, func(x, y dated[[]byte]) int { return cmp.Compare(x.from, y.from) })
	}
	return lives, nil
}

func (l *lifetime) event(e *Event) {
	switch e.Kind {
	case checkpoints.CreatePartition, checkpoints.DropPartition:
		p := l.partition(e.Partition)
		p.name = cmp.Or(p.name, e.Name)
		switch {
		case e.Kind == checkpoints.DropPartition && e.Undone:
		case e.Kind == checkpoints.DropPartition:
			p.dropped = min(p.dropped, e.Timestamp)
		case p.created == 0 || e.Timestamp < p.created:
			p.created = e.Timestamp
		}
		return
	case checkpoints.DropCollection:
		if !e.Undone {
			l.dropped = min(l.dropped, e.Timestamp)
		}
	case checkpoints.CreateCollection:
		switch {
		case e.Given: // its log has lost the beginning, whatever those of other vchannels have
			l.since = max(l.since, e.Timestamp)
		case l.created == 0 || e.Timestamp < l.created:
			l.created = e.Timestamp
		}
	}
	for id, name := range e.Partitions {
		p := l.partition(id)
		p.name = cmp.Or(p.name, name)
	}
	// A drop tells what it ends, nothing that begins with it: it only counts
	// where no other event does.
	from := e.Timestamp
	if e.Kind == checkpoints.DropCollection {
		from = 0
	}
	if e.Name != "" && (from > 0 || len(l.names) == 0) {
		l.names = append(l.names, dated[string]{from, e.Name})
	}
	if len(e.Schema) > 0 && (from > 0 || len(l.schemas) == 0) {
		l.schemas = append(l.schemas, dated[[]byte]{from, e.Schema})
	}
}

// document adds what no event tells: names of partitions that were first met
// in an insert, and schemas that were given by hand.
func (l *lifetime) document(c *checkpoints.Collection) {
	if c.Dropped != nil {
		l.dropped = min(l.dropped, c.Dropped.Timestamp)
	}
	if len(l.names) == 0 && c.Name != "" {
		l.names = append(l.names, dated[string]{0, c.Name})
	}
	if len(l.schemas) == 0 && len(c.Schema) > 0 {
		l.schemas = append(l.schemas, dated[[]byte]{0, c.Schema})
	}
	if len(l.names) == 0 && len(l.schemas) > 0 {
		if s, err := column.ParseSchema(l.schemas[0].value); err == nil && s.Name != "" {
			l.names = append(l.names, dated[string]{0, s.Name})
		}
	}
	for id, p := range c.Partitions {
		if id < 0 {
			continue // the deletes of all partitions
		}
		life := l.partition(id)
		life.name = cmp.Or(life.name, p.Name)
		if p.Dropped != nil {
			life.dropped = min(life.dropped, p.Dropped.Timestamp)
		}
	}
}

// complete is the moment up to which all vchannels of the collection are
// whole: the smallest tick of their seek positions, 0 if one has read none.
func (a *Archive) complete(l *lifetime) uint64 {
	least := uint64(never)
	for _, name := range l.vchannels {
		least = min(least, a.byName[name].Doc.Seek.Tick)
	}
	return least
}
