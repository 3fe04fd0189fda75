package stages

import (
	"context"
	"fmt"

	"flowgraph/checkpoints"
	"flowgraph/stages/wire"
)

// Decoder turns records into messages. It walks structure only: whether
// columns fit a schema is asked after the filter, since a persisted row is
// dropped unread.
type Decoder struct {
	next   checkpoints.Position // where the next pack begins
	sum    byte                 // of what was prefetched
	window *window
	open   *transactions
	tickAt int64 // offset of the record that brought next.Tick; -1: not read by this decoder
	left   LeftOut
}

// NewDecoder returns a decoder for a log that is read from a position on; its
// tick is the last one before it.
func NewDecoder(from checkpoints.Position) *Decoder {
	return &Decoder{next: from, window: newWindow(), open: newTransactions(), tickAt: -1}
}

// Step makes one pack of one poll.
func (d *Decoder) Step(_ context.Context, in *Raw) ([]*Pack, error) {
	pack := &Pack{
		Signal: in.Signal, Start: d.next, Hold: d.hold(d.next),
		Bytes: in.Bytes, Now: in.Now, Free: in.Free, Request: in.Request,
	}
	batch := batch{pack, in.slab}
	if batch.slab == nil {
		n := len(in.Records)
		batch.slab = &slab{messages: make([]Message, 0, n), inserts: make([]wire.Insert, 0, n)}
	}
	pack.slab, pack.Messages = batch.slab, batch.slab.messages
	d.sum += prefetch(in.Records)
	for i := range in.Records {
		if err := d.record(&batch, &in.Records[i]); err != nil {
			return nil, err
		}
	}
	batch.slab.messages = pack.Messages
	pack.End, pack.HoldAfter, pack.Open = d.next, d.hold(d.next), d.open.bytes
	return []*Pack{pack}, nil
}

// batch is a pack under construction with the slab that its messages share.
type batch struct {
	pack *Pack
	slab *slab
}

func (d *Decoder) record(b *batch, r *Record) error {
	if r.Offset < d.next.Offset {
		return fmt.Errorf("offset %d follows after offset %d was expected", r.Offset, d.next.Offset)
	}
	at := checkpoints.Position{Offset: r.Offset, LeaderEpoch: r.LeaderEpoch, Tick: d.next.Tick}
	b.pack.LogTime = r.Time
	b.pack.Counts.Records++
	m, err := d.read(b, r, at)
	if err != nil {
		return err
	}
	d.next = checkpoints.Position{Offset: checkpoints.After(r.Offset), LeaderEpoch: r.LeaderEpoch, Tick: d.next.Tick}
	if m.empty() {
		return nil
	}
	m.Identity, m.Record = at, r
	if m.Event != nil {
		m.Event.Position, m.Event.Start = at, d.hold(at)
		m.Event.End, m.Event.After = d.next, d.hold(d.next)
		m.Event.LogTime = r.Time
	}
	b.pack.Messages = append(b.pack.Messages, m)
	return nil
}

// read tells a WAL record of 2.6, which has the header _v, from a message of
// an earlier release; both may stand in one log.
func (d *Decoder) read(b *batch, r *Record, at checkpoints.Position) (Message, error) {
	if r.Control {
		return Message{}, nil
	}
	if len(r.Headers) > 0 {
		if w, ok, err := wire.ParseWAL(r.Headers); err != nil && ok {
			return bad(err), nil
		} else if ok {
			return d.wal(b, r, w, at)
		}
	}
	return d.message(b, r, at), nil
}

// hold is where reading must begin so that a pack which begins at p is
// decoded the same way.
func (d *Decoder) hold(p checkpoints.Position) checkpoints.Position {
	if begin, ok := d.open.first(); ok {
		p = p.Earlier(begin)
	}
	if first, ok := d.window.first(); ok {
		p = p.Earlier(first)
	}
	return p
}
