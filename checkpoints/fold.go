package checkpoints

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// fold keeps the document small: above the limit, log entries of open
// segments move to chunks, longest lists first, down to the newest entry. A
// segment that is final is left alone: its manifest is made of its entry.
func (t *Tracker) fold(ctx context.Context, d *Document) error {
	limit := int64(t.opts.FoldAbove)
	if limit <= 0 || d.atMost() <= limit {
		return nil
	}
	data, err := d.Encode()
	if err != nil {
		return err
	}
	size := int64(len(data))
	if size <= limit {
		return nil
	}
	// Folding well below the limit makes the next folds rare.
	var folds []foldOf
	for _, s := range d.foldable() {
		if size <= limit*3/4 {
			break
		}
		f, err := newFold(s, t.names.LogID())
		if err != nil {
			return err
		}
		folds, size = append(folds, f), size-f.saved
	}
	return t.putFolds(ctx, d, folds)
}

// foldOf is the fold of one segment's entries but the last.
type foldOf struct {
	segment int64
	key     string
	data    []byte
	chunks  []string // of the segment afterwards
	logs    int      // entries folded
	saved   int64    // bytes of the document, about
}

func newFold(s *Segment, logID string) (foldOf, error) {
	n := len(s.Logs) - 1
	f := foldOf{segment: s.ID, key: ChunkKey(s.Collection, s.Partition, s.ID, logID), logs: n}
	c := Chunk{Version: Version, Collection: s.Collection, Partition: s.Partition, Segment: s.ID, Logs: s.Logs[:n]}
	f.chunks = append(slices.Clone(s.Chunks), logID)
	if len(s.Chunks) >= chunkNames {
		c.Chunks, f.chunks = s.Chunks, []string{logID}
	}
	var err error
	if f.data, err = json.Marshal(c); err != nil {
		return f, fmt.Errorf("%s: %w", f.key, err)
	}
	logs, err := json.Marshal(c.Logs)
	f.saved = int64(len(logs))
	return f, err
}

// putFolds stores chunks, then lets the entries go from the snapshot and from
// the released document. Chunks of a commit that never lands are garbage.
func (t *Tracker) putFolds(ctx context.Context, d *Document, folds []foldOf) error {
	meta := t.store.Meta()
	err := parallel(ctx, settlers, len(folds), func(ctx context.Context, i int) error {
		o := Object{Parts: [][]byte{folds[i].data}, Meta: meta}
		_, err := t.store.bucket.Put(ctx, folds[i].key, o, Condition{Refusals: commitRefusals})
		return err
	})
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range folds {
		d.folded(f)
		t.doc.folded(f)
	}
	return nil
}

// folded replaces the segment's oldest entries by the chunk's name. Entries
// are only ever appended, so these are the same in a later document.
func (d *Document) folded(f foldOf) {
	s := *d.Segments[f.segment]
	s.Chunks, s.Logs = f.chunks, slices.Clone(s.Logs[f.logs:])
	d.Segments[f.segment] = &s
}

func (d *Document) foldable() []*Segment {
	var list []*Segment
	for _, s := range d.Segments {
		if s.State < Flushed && len(s.Logs) > 1 {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b *Segment) int {
		return cmp.Or(cmp.Compare(len(b.Logs), len(a.Logs)), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// atMost is an upper bound of the document's size that costs no encoding.
func (d *Document) atMost() int64 {
	n := 2_000 + 4*len(d.VChannel)
	for _, s := range d.Segments {
		n += 700 + 22*len(s.Fields) + 160*len(s.Logs) + 22*len(s.Chunks)
	}
	for _, c := range d.Collections {
		n += 400 + 6*len(c.Name) + 2*len(c.Schema)
		for _, p := range c.Partitions {
			n += 300 + 6*len(p.Name)
		}
	}
	for _, e := range d.Events {
		n += 500 + 6*len(e.Name) + 2*len(e.Schema)
		for _, name := range e.Partitions {
			n += 40 + 6*len(name)
		}
	}
	return int64(n)
}
