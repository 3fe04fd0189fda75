package explore

import (
	"context"
	"encoding/json"
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
	case report.Err() != nil || report.Rows != want.Rows || report.Deletes != want.Deletes:
		w.fail("%s", report)
	}
}

// again starts once more: it must find nothing to do.
func (w *world) again() {
	keys, doc := w.data(), w.state()
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
		w.fail("a further start changed the objects from\n  %s\nto\n  %s", strings.Join(keys, "\n  "), strings.Join(now, "\n  "))
	}
	if now := w.state(); now != doc {
		w.fail("a further start changed the document from\n%s\nto\n%s", doc, now)
	}
}

// data are the keys of everything but the document.
func (w *world) data() []string {
	return slices.DeleteFunc(w.bucket.Keys(""), func(key string) bool { return key == checkpoints.DocumentKey(v0.Name()) })
}

// state is the document less what every claim changes.
func (w *world) state() string {
	d, err := checkpoints.Decode(v0.Name(), w.bucket.Data(checkpoints.DocumentKey(v0.Name())))
	if err != nil {
		w.fail("%v", err)
		return ""
	}
	d.Epoch, d.Owner, d.Sequence = 0, "", 0
	text, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		w.fail("%v", err)
	}
	return string(text)
}
