//go:build unix

package proctest

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"flowgraph/checkpoints"
)

// follow reads all documents and makes sure that nothing in them went back.
func (w *world) follow() {
	w.t.Helper()
	for _, name := range w.vchannels() {
		next, _, err := checkpoints.Load(w.t.Context(), w.bucket, name)
		last := w.docs[name]
		if errors.Is(err, checkpoints.ErrNotExist) && last == nil {
			continue
		}
		if err != nil {
			w.t.Fatalf("the document of %s cannot be used any more: %v", name, err)
		}
		if last != nil {
			if steps := slices.Collect(w.back(last, next)); len(steps) > 0 {
				w.t.Fatalf("%s went back from epoch %d, sequence %d to epoch %d, sequence %d:\n%s",
					name, last.Epoch, last.Sequence, next.Epoch, next.Sequence, strings.Join(steps, "\n"))
			}
		}
		w.docs[name] = next
	}
}

// back yields what of a document went back or was forgotten.
func (w *world) back(last, next *checkpoints.Document) iter.Seq[string] {
	return func(yield func(string) bool) {
		less := func(what string, before, after int64) bool {
			return after >= before || yield(fmt.Sprintf("%s went back from %d to %d", what, before, after))
		}
		_ = less("epoch", last.Epoch, next.Epoch) &&
			less("seek position", last.Seek.Offset, next.Seek.Offset) &&
			less("read_from", last.ReadFrom.Offset, next.ReadFrom.Offset) &&
			backPlaces(last, next, less) && w.backSegments(last, next, less)
	}
}

type notLess func(what string, before, after int64) bool

func backPlaces(last, next *checkpoints.Document, less notLess) bool {
	for id, c := range last.Collections {
		now := next.Collections[id]
		if now == nil {
			return less(fmt.Sprintf("collection %d is forgotten:", id), 1, 0)
		}
		for pid, p := range c.Partitions {
			n := now.Partitions[pid]
			if n == nil {
				return less(fmt.Sprintf("partition %d is forgotten:", pid), 1, 0)
			}
			if !less(fmt.Sprintf("AutoEnd of %d/%d", id, pid), p.AutoEnd, n.AutoEnd) ||
				!less(fmt.Sprintf("AutoEnd of deletes of %d/%d", id, pid), p.AutoEndDelete, n.AutoEndDelete) {
				return false
			}
		}
	}
	return true
}

// backSegments finds segments also in the manifests that they move to.
func (w *world) backSegments(last, next *checkpoints.Document, less notLess) bool {
	for _, id := range slices.Sorted(maps.Keys(last.Segments)) {
		before, after := last.Segments[id], next.Segments[id]
		if after == nil {
			if before.State == checkpoints.New {
				continue // met again on replay
			}
			m, err := checkpoints.LoadManifest(w.t.Context(), w.bucket, checkpoints.SegmentRef{
				Collection: before.Collection, Partition: before.Partition, Segment: id})
			if err != nil {
				w.t.Fatalf("segment %d has left the document: %v", id, err)
			}
			after = &m.Segment
			after.State = max(after.State, before.State) // a manifest does not know of drops
		}
		if !less(fmt.Sprintf("state of segment %d", id), int64(before.State), int64(after.State)) ||
			!less(fmt.Sprintf("end of segment %d", id), before.End.Offset, after.End.Offset) ||
			!less(fmt.Sprintf("rows of segment %d", id), before.Rows, after.Rows) {
			return false
		}
	}
	return true
}
