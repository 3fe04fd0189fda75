package archive

import (
	"cmp"
	"slices"

	"flowgraph/checkpoints"
	"flowgraph/stages/column"
)

// Collection is one collection of a vchannel.
type Collection struct {
	ID         int64
	Channel    string // Milvus' own name of the shard; "" if dropped, or while nothing is persisted
	Name       string // "" if unknown; of a dropped one only after LoadHistory
	Raw        []byte // serialized schema; nil if dropped or never seen
	Schema     *column.Schema
	Dropped    *checkpoints.Drop
	Partitions []Partition
}

// Partition is one partition; ID -1 stands for the deletes in all of them.
type Partition struct {
	ID            int64
	Name          string
	AutoEnd       int64
	AutoEndDelete int64
	Dropped       *checkpoints.Drop
}

// Collections lists what the vchannel's document knows, by ID, with the names
// that the archive has loaded.
func (v *VChannel) Collections(a *Archive) []Collection {
	if v.Doc == nil {
		return nil
	}
	var out []Collection
	for id, c := range v.Doc.Collections {
		at := logPlace{v.Name, v.Doc.TopicID, id, wholeCollection}
		col := Collection{ID: id, Channel: c.Channel, Name: a.past(at).name, Raw: c.Schema, Dropped: c.Dropped}
		if len(c.Schema) > 0 {
			col.Schema, _ = column.ParseSchema(c.Schema) // it was parsed before it was stored
		}
		for pid, p := range c.Partitions {
			at.partition = pid
			col.Partitions = append(col.Partitions, Partition{pid, a.past(at).name, p.AutoEnd, p.AutoEndDelete, p.Dropped})
		}
		slices.SortFunc(col.Partitions, func(x, y Partition) int { return cmp.Compare(x.ID, y.ID) })
		out = append(out, col)
	}
	slices.SortFunc(out, func(x, y Collection) int { return cmp.Compare(x.ID, y.ID) })
	return out
}
