package checkpoints

import (
	"cmp"
	"context"
	"errors"
	"slices"
)

// settlers is how many manifests and DDL events are stored at a time.
const settlers = 16

// settleLoop gives what a committed document shows as final objects of its
// own, after every commit.
func (t *Tracker) settleLoop(ctx context.Context) error {
	for {
		if _, err := t.settle(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-t.settled:
		}
	}
}

// settle stores manifests and DDL events and lets their entries leave with
// the next commit. It returns how many left.
//
// Only a committed document may be believed here: a manifest of a seal whose
// commit is then lost would be read beside what the next life writes for the
// same rows.
func (t *Tracker) settle(ctx context.Context) (int, error) {
	d, segments, events := t.final()
	meta := t.store.Meta()
	n := len(segments) + len(events)
	err := parallel(ctx, settlers, n, func(ctx context.Context, i int) error {
		if i >= len(segments) {
			return putEvent(ctx, t.store.bucket, d, events[i-len(segments)], meta)
		}
		s := segments[i]
		if err := settleSegment(ctx, t.store.bucket, d, s, meta, t.opts.Compound); err != nil {
			return err
		}
		t.leave(s)
		return nil
	})
	if err != nil {
		return 0, t.giveUp(ctx, err)
	}
	t.forget(events)
	return n, nil
}

// Compound stores the object under a segment's CompoundKey, made of the
// statistics of its flushes alone: the same bytes whoever writes it, and
// create-only, since another life may have written it already. meta is the
// object's user metadata. It is called only for what a committed document
// shows as final.
type Compound func(ctx context.Context, s *Segment, meta map[string]string) error

// settleSegment stores what is final of a segment that d, a committed
// document, shows as final. The manifest comes last: with it the segment may
// leave, and nobody would make the compound object any more.
func settleSegment(ctx context.Context, b Bucket, d *Document, s *Segment, meta map[string]string, compound Compound) error {
	if s.unknownToAll() {
		return nil
	}
	if s.CompoundKey() != "" && compound != nil {
		if err := compound(ctx, s, meta); err != nil {
			return err
		}
	}
	return putManifest(ctx, b, NewManifest(d, s), meta)
}

// final lists what the last committed document shows as final and the
// released one still holds.
func (t *Tracker) final() (*Document, []*Segment, []Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed != nil {
		return t.stored, nil, nil
	}
	var segments []*Segment
	for id, s := range t.stored.Segments {
		if s.State >= Flushed && t.doc.Segments[id] != nil {
			segments = append(segments, s)
		}
	}
	slices.SortFunc(segments, func(a, b *Segment) int { return cmp.Compare(a.ID, b.ID) })
	held := make(map[eventPlace]bool, len(t.doc.Events))
	for _, e := range t.doc.Events {
		held[e.place()] = true
	}
	var events []Event
	for _, e := range t.stored.Events {
		if held[e.place()] {
			events = append(events, e)
		}
	}
	return t.stored, segments, events
}

// unknownToAll: nobody needs to learn later that the segment is final. Rows
// do not name an auto segment; and of an assigned one that was dropped before
// any cut nothing was decided. An assigned one sealed empty has a manifest:
// its End says which of its rows went elsewhere.
func (s *Segment) unknownToAll() bool {
	return s.Rows == 0 && (s.Auto || s.neverCut())
}

func (t *Tracker) leave(s *Segment) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.doc.Segments, s.ID)
	if t.doc.Manifests != nil && !s.unknownToAll() {
		n := *t.doc.Manifests + 1 // older documents have the old number
		t.doc.Manifests = &n
	}
	t.want(leaving)
}

func (t *Tracker) forget(events []Event) {
	if len(events) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.doc.forget(events)
	t.want(leaving)
}

// forget takes events that are stored out of the document, and with the last
// one of a collection what the document need not know of dropped things:
// their events have it.
func (d *Document) forget(events []Event) {
	stored, touched, kept := map[eventPlace]bool{}, map[int64]bool{}, map[int64]bool{}
	for _, e := range events {
		stored[e.place()], touched[e.Collection] = true, true
	}
	d.Events = slices.DeleteFunc(slices.Clone(d.Events), func(e Event) bool { return stored[e.place()] })
	for _, e := range d.Events {
		kept[e.Collection] = true
	}
	for id := range touched {
		if !kept[id] {
			d.collection(id).bare()
		}
	}
}

// bare clears the names and schema of what is dropped.
func (c *Collection) bare() {
	if c.Dropped != nil {
		c.Name, c.Channel, c.Schema = "", "", nil
	}
	for id, p := range c.Partitions {
		if p.Name != "" && (c.Dropped != nil || p.Dropped != nil) {
			bare := *p
			bare.Name = ""
			c.Partitions[id] = &bare
		}
	}
}

// giveUp notes an error after which nothing more may be written. The end of
// the context is none: Flush may still come.
func (t *Tracker) giveUp(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, ErrFenced) {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fail(err)
	return err
}

// Flush stores what was acknowledged without a gap when it was called, moves
// what is final to objects of its own and stores the document without it. It
// returns nil once the first is done, whether or not ctx lets it finish the
// rest; what is left is done by the next start. It may be called while Run
// runs, or after ctx ended Run.
func (t *Tracker) Flush(ctx context.Context) error {
	if err := t.commit(ctx); err != nil {
		return err
	}
	for {
		n, err := t.settle(ctx)
		if err == nil && n > 0 {
			err = t.commit(ctx)
		}
		switch {
		case err != nil && ctx.Err() != nil && !errors.Is(err, ErrFenced):
			return nil
		case err != nil:
			return err
		case n == 0:
			return t.failure()
		}
	}
}

func (t *Tracker) failure() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}
