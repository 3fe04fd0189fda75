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
		w.fail("a further start changed the objects:\n%s", changes(keys, now))
	}
	if now := w.state(); now != doc {
		w.fail("a further start changed the document:\n%s\nwhich was\n%s", changes(strings.Split(doc, "\n"), strings.Split(now, "\n")), doc)
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
	d.Epoch, d.Owner, d.Sequence, d.Earlier = 0, "", 0, nil
	text, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		w.fail("%v", err)
	}
	return string(text)
}
