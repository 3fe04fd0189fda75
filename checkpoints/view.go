package checkpoints

import "maps"

// View is the released document as it is now: what is persisted, whether a
// commit shows it already or not. Its maps are the caller's, their entries
// must not be changed.
func (t *Tracker) View() *Document {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := *t.doc
	d.Collections, d.Segments = maps.Clone(d.Collections), maps.Clone(d.Segments)
	return &d
}

// Names returns what the released document calls a collection and a partition
// of it; "" for what it does not know or has forgotten after a drop.
func (t *Tracker) Names(collection, partition int64) (string, string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.doc.Names(collection, partition)
}

// Names returns what the document calls a collection and a partition of it.
func (d *Document) Names(collection, partition int64) (string, string) {
	c := d.Collections[collection]
	if c == nil {
		return "", ""
	}
	if p := c.Partitions[partition]; p != nil {
		return c.Name, p.Name
	}
	return c.Name, ""
}
