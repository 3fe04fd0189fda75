package stages

import (
	"context"
	"fmt"

	"flowgraph/checkpoints"
	"flowgraph/stages/column"
	"flowgraph/stages/wire"
)

// BufferConfig is what a segment buffer is made from besides the document.
type BufferConfig struct {
	Limits    Limits
	Names     *checkpoints.Names
	Pool      *column.Pool
	StopOnBad bool         // a bad record stops the vchannel instead of going to quarantine
	Schemas   SchemaSource // nil: none but the log
}

// Buffer is the segment buffer: it places rows, seals and cuts segments. It
// is a pure function of the packs it is given, which carry the time too, and
// of what a source of schemas answers, which enters the document at once.
//
// A cut is taken only at a pack's end. The low-water marks ride on it: what
// is still buffered after the cut holds back its Seek and ReadFrom.
type Buffer struct {
	cfg         BufferConfig
	policies    policies
	collections map[int64]*collection
	open        map[int64]*segment   // by ID
	auto        map[autoKey]*segment // the open ones that take rows without a segment
	sealed      *recent[struct{}]    // assigned ones sealed in this life: late rows are rerouted
	buffered    queue
	held        int64 // memory of all columns

	seq       uint64
	pack      *Pack
	limit     *checkpoints.Position // set while cuts may not pass an event that is still to come
	touched   []*segment            // got rows in this pack
	columns   []wire.Field          // of the message at hand
	out       []*Cut
	checked   int64 // log time of the last look at the logged policies
	lastLog   int64
	lastNow   int64 // wall time of the last pack, and what it is taken for
	wall      int64
	unsettled bool // cuts since the last urgent one ...
	waiting   bool // ... and among them one with a flush or an event
	unwanted  int  // open segments that somebody wants sealed

	// What the next cut takes along.
	met    []checkpoints.Segment
	bad    []BadRecord
	counts Counts
}

type autoKey struct {
	place
	level checkpoints.Level
}

// NewBuffer returns a buffer that goes on from the document a flow claimed.
func NewBuffer(doc *checkpoints.Document, cfg BufferConfig) (*Buffer, error) {
	b := &Buffer{
		cfg: cfg, policies: newPolicies(cfg.Limits),
		collections: map[int64]*collection{}, open: map[int64]*segment{},
		auto: map[autoKey]*segment{}, sealed: newRecent[struct{}](),
	}
	for id, c := range doc.Collections {
		mine, err := newCollection(id, c)
		if err != nil {
			return nil, err
		}
		b.collections[id] = mine
	}
	for id, s := range doc.Segments {
		if s.State >= checkpoints.Flushed {
			continue
		}
		open := &segment{meta: *s, flushed: s.Bytes}
		open.meta.Logs, open.meta.Chunks = nil, nil
		b.open[id] = open
		if s.Auto {
			b.auto[autoKey{open.place(), s.Level}] = open
		} else {
			b.succeed(open)
		}
	}
	return b, nil
}

// Held is the memory of all buffered columns in bytes, for whoever runs Step.
func (b *Buffer) Held() int64 { return b.held }

// Oldest is when the oldest buffered row was buffered, Unix ms; 0 if none is.
func (b *Buffer) Oldest() int64 {
	if b.buffered.head == nil {
		return 0
	}
	return b.buffered.head.since
}

// Step handles one pack and returns the cuts that it leads to.
func (b *Buffer) Step(ctx context.Context, p *Pack) ([]*Cut, error) {
	b.pack, b.out, b.touched, b.limit = p, nil, b.touched[:0], nil
	b.counts.add(p.Counts)
	b.sealed.turn(p.Turn)
	// A clock that is set back goes on from where it was, or rows would wait
	// until it has caught up.
	b.wall += max(0, p.Now-b.lastNow)
	b.lastNow = p.Now
	if p.LogTime > 0 { // ticks and what is persisted pass time too
		b.lastLog = p.LogTime
	}
	if p.Event != nil {
		if err := b.event(p.Event); err != nil {
			return nil, err
		}
	}
	for i := range p.Messages {
		if err := b.message(ctx, &p.Messages[i]); err != nil {
			return nil, err
		}
	}
	b.request(p.Request)
	b.sealRequested()
	b.apply()
	if p.Signal == Drain {
		for s := b.buffered.head; s != nil; s = b.buffered.head {
			b.cut(s, Drained, false)
		}
	}
	b.settle()
	return b.out, nil
}

// settle sees to it that movement without rows rides on a cut too, and that
// nothing waits for its turn when somebody waits for it, nor what was flushed
// or defined when the log has gone quiet. A position that moved alone has
// time: a log that goes quiet after every record would cost a commit for each.
func (b *Buffer) settle() {
	for _, c := range b.out {
		b.waiting = b.waiting || c.Change.Flush != nil || c.Change.Event != nil
	}
	urgent := b.pack.Signal == Drain || b.pack.Request != nil || b.pack.Signal == Idle && b.waiting
	moved := b.pack.Start.Offset != b.pack.End.Offset || len(b.met)+len(b.bad) > 0
	if len(b.out) == 0 && (moved || urgent && b.unsettled) {
		b.emit(&Cut{})
	}
	if len(b.out) > 0 {
		b.unsettled, b.waiting = !urgent, b.waiting && !urgent
		b.out[len(b.out)-1].Change.Urgent = urgent
	}
}

// message places one message's rows.
func (b *Buffer) message(ctx context.Context, m *Message) error {
	switch {
	case m.Bad != "":
		return b.reject(m, kindOf(m.Bad), m.Bad)
	case m.Insert != nil:
		return b.insert(ctx, m)
	case m.Delete != nil:
		return b.delete(ctx, m)
	}
	return nil
}

// reject puts a record on its way to quarantine, or stops there.
func (b *Buffer) reject(m *Message, kind BadKind, reason string) error {
	if b.cfg.StopOnBad {
		return fmt.Errorf("%w at offset %d: %s", ErrBadRecord, m.Record.Offset, reason)
	}
	b.counts.Bad++
	b.bad = append(b.bad, BadRecord{Record: m.Record.clone(), Kind: kind, Reason: reason})
	return nil
}

// insert checks all of a message before any of it is buffered.
func (b *Buffer) insert(ctx context.Context, m *Message) error {
	in := m.Insert
	b.late(m)
	c, err := b.known(ctx, in.Collection, m)
	if err != nil {
		return err
	}
	if b.columns, err = in.Columns(b.columns[:0]); err == nil {
		c.views, err = fit(c.schema, in, b.columns, c.views)
	}
	if err != nil {
		return b.reject(m, BadMisfit, err.Error())
	}
	if in.Rows == 0 {
		return nil
	}
	c.learnChannel(in.Shard)
	s := b.target(m)
	if at := (place{in.Collection, in.Partition}); s.place() != at { // the filter has forgotten the segment
		return b.reject(m, BadMisplaced, foreign(in.Segment, s.place(), at))
	}
	if len(s.columns) == 0 {
		b.begin(s, c.schema.Fields, m)
	}
	before := s.held
	if err := appendRows(b.cfg.Pool, s.columns, in, c.views, c.schema.Absent); err != nil {
		return fmt.Errorf("offset %d: %w", m.Record.Offset, err)
	}
	s.grown(in.MinTS, in.MaxTS, m.Record.Time)
	b.placed(s, before)
	if len(in.PartitionName) > 0 && s.partitionName == "" {
		s.partitionName = string(in.PartitionName)
	}
	b.counts.Rows += int64(in.Rows)
	return nil
}

func (b *Buffer) delete(ctx context.Context, m *Message) error {
	in := m.Delete
	c, err := b.known(ctx, in.Collection, m)
	if err != nil {
		return err
	}
	if err := fitDelete(c.schema.Key, in); err != nil {
		return b.reject(m, BadMisfit, err.Error())
	}
	if in.Rows == 0 {
		return nil
	}
	c.learnChannel(in.Shard)
	s := b.autoSegment(place{in.Collection, in.Partition}, checkpoints.L0, m)
	if len(s.columns) == 0 {
		b.begin(s, c.deletes, m)
	}
	before := s.held
	if err := appendDeletes(b.cfg.Pool, s.columns, in); err != nil {
		return fmt.Errorf("offset %d: %w", m.Record.Offset, err)
	}
	s.grown(in.MinTS, in.MaxTS, m.Record.Time)
	b.placed(s, before)
	b.counts.Deletes += int64(in.Rows)
	return nil
}

func (b *Buffer) begin(s *segment, fields []column.Field, m *Message) {
	s.begin(fields, m.Identity, b.pack.Hold, b.wall)
	b.buffered.join(s)
}

func (b *Buffer) placed(s *segment, before int64) {
	b.held += s.held - before
	if n := len(b.touched); n == 0 || b.touched[n-1] != s {
		b.touched = append(b.touched, s)
	}
}
