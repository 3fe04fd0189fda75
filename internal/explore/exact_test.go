package explore

import (
	"context"
	"slices"
	"strings"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
)

// check compares the bucket with the log: every row and delete once, in its
// segment and its range, every object that is referred to whole, and nothing
// else beside them but what lives that are over have left.
func (w *world) check() {
	want := w.script.expect
	report, err := archive.Check(context.Background(), w.bucket, want, archive.CheckOptions{})
	switch {
	case err != nil:
		w.fail("%v", err)
	case report.CutOff > w.whole.lostRows():
		w.fail("%d rows and deletes are of ends that the log lost, which had %d", report.CutOff, w.whole.lostRows())
	case report.Err() != nil || report.Rows != want.Rows || report.Deletes != want.Deletes:
		w.fail("%s", report)
	}
}

// again starts once more: it must find nothing to persist.
func (w *world) again() {
	keys := w.data()
	w.tell("> once more")
	l := w.start()
	if !l.ready() {
		w.fail("once more: it does not start: %v", l.err)
		return
	}
	l.read(len(w.script.records), 1<<30)
	if !l.readAll() {
		w.fail("once more: life %d ended: %v", l.number, l.err)
		return
	}
	if err := l.drain(); err != nil {
		w.fail("once more: %v", err)
	}
	if now := w.data(); !slices.Equal(keys, now) {
		w.fail("a further start changed the objects:\n%s", changes(keys, now))
	}
}

// changes are the lines that came or went.
func changes(was, now []string) string {
	var b strings.Builder
	for _, l := range was {
		if !slices.Contains(now, l) {
			b.WriteString("- " + l + "\n")
		}
	}
	for _, l := range now {
		if !slices.Contains(was, l) {
			b.WriteString("+ " + l + "\n")
		}
	}
	return b.String()
}

// data are the keys of what holds rows, deletes, bad records and events. An
// idle seal may be due in any life, so the document, manifests and compound
// statistics are not among them.
func (w *world) data() []string {
	return slices.DeleteFunc(w.bucket.Keys(""), func(key string) bool {
		return strings.HasPrefix(key, checkpoints.DocumentPrefix) || strings.HasPrefix(key, "segments/") ||
			strings.HasSuffix(key, "/"+checkpoints.CompoundStats)
	})
}
