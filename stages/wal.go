package stages

import (
	"cmp"
	"fmt"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"

	"flowgraph/checkpoints"
	"flowgraph/stages/column"
	"flowgraph/stages/wire"
)

// Types of WAL messages (messagespb.MessageType) that mean something here.
const (
	walTimeTick         = 1
	walInsert           = 2
	walDelete           = 3
	walFlush            = 4
	walCreateCollection = 5
	walDropCollection   = 6
	walCreatePartition  = 7
	walDropPartition    = 8
	walManualFlush      = 9
	walSchemaChange     = 12
	walAlterCollection  = 13
	walFlushAll         = 37
	walBeginTxn         = 900
	walCommitTxn        = 901
	walRollbackTxn      = 902
	walAlterWAL         = 700
)

// wal reads one record of Milvus 2.6. Records are taken in offset order: what
// Milvus orders by tick before it reads on, identities order here.
func (d *Decoder) wal(b *batch, r *Record, w wire.WAL, at checkpoints.Position) (Message, error) {
	control := w.Control() && w.Type != walTimeTick && w.Type != walFlushAll && w.Type != walAlterWAL
	if w.Encrypted && !control {
		// In quarantine its rows would be missing from the archive silently.
		return Message{}, fmt.Errorf("%w at offset %d", ErrEncrypted, r.Offset)
	}
	if w.Tick < d.next.Tick {
		b.pack.Counts.BelowTick++
		d.leave(r)
		return Message{}, nil
	}
	d.left = LeftOut{}
	if control { // the coordinators' copy of what stands in the vchannels too
		b.pack.Counts.Ignored.note(IgnoredControl)
		return Message{}, nil
	}
	if reason := walUnknown(w); reason != "" {
		return Message{Bad: reason}, nil
	}
	switch w.Type {
	case walTimeTick:
		d.tick(w.Tick, r.Offset)
		b.pack.Counts.Expired += d.open.expire(w.Tick)
		return Message{}, nil
	case walBeginTxn:
		d.open.begin(w.Txn, at, w.Keepalive, w.Tick)
		return Message{}, nil
	case walRollbackTxn:
		d.open.end(w.Txn)
		return Message{}, nil
	case walCommitTxn:
		d.commit(b, w, at)
		return Message{}, nil
	case walInsert, walDelete:
		m := walRows(b, r, w)
		if w.InTxn && !m.empty() {
			m.Record = r
			if !d.open.add(w.Txn, m.own(), w.Tick) {
				b.pack.Counts.Orphans++
			}
			return Message{}, nil
		}
		return m, nil
	}
	return walEvent(b, r, w), nil
}

// walUnknown says why a record cannot be read as what its headers name.
func walUnknown(w wire.WAL) string {
	_, ddl := ddlTypes[w.Type]
	switch {
	case w.Version != "1" && w.Version != "2":
		return fmt.Sprintf("unknown WAL version %q", w.Version)
	case w.Version != "1" && (ddl || w.Type == walInsert || w.Type == walDelete):
		return fmt.Sprintf("WAL message type %d has no version %s", w.Type, w.Version)
	case w.Type >= walBeginTxn && w.Type <= walRollbackTxn && !w.InTxn:
		return "a transaction without an ID"
	}
	return ""
}

// commit lets a transaction's messages take effect: their identity and their
// timestamp are the commit's.
func (d *Decoder) commit(b *batch, w wire.WAL, at checkpoints.Position) {
	x := d.open.end(w.Txn)
	if x == nil {
		b.pack.Counts.Orphans++
		return
	}
	for _, m := range x.members {
		m.Identity = at
		switch {
		case m.Insert != nil:
			m.Insert.Stamp(w.Tick)
		case m.Delete != nil:
			m.Delete.Stamp(w.Tick)
		}
		b.pack.Messages = append(b.pack.Messages, m)
	}
}

// walRows reads an insert or a delete. The body is that of 2.5, but segment,
// timestamps and shard in it are placeholders: the headers have them.
func walRows(b *batch, r *Record, w wire.WAL) Message {
	if w.Type == walDelete {
		m := remove(b, r)
		if m.Delete != nil {
			m.Delete.Shard = []byte(w.VChannel)
			m.Delete.Stamp(w.Tick)
		}
		return m
	}
	base, rest := wire.Open(r.Value)
	m := insert(b, base, rest)
	if m.Insert == nil {
		return m
	}
	segment, err := wire.AssignedSegment(w.Header, m.Insert.Partition)
	if err != nil {
		return bad(fmt.Errorf("insert header: %w", err))
	}
	m.Insert.Segment, m.Insert.Shard = segment, []byte(w.VChannel)
	m.Insert.Stamp(w.Tick)
	return m
}

// walEvent reads DDL and seals.
func walEvent(b *batch, r *Record, w wire.WAL) Message {
	e, err := newWALEvent(r, w)
	if err != nil {
		return bad(err)
	}
	if e != nil {
		e.Offset, e.Timestamp = r.Offset, w.Tick
		return Message{Event: e}
	}
	if name, passed := walPassed[w.Type]; passed {
		b.pack.Counts.Ignored.note(name)
		return Message{}
	}
	if why, known := walNotFollowed[w.Type]; known {
		return Message{Bad: fmt.Sprintf("WAL message type %d, %s", w.Type, why)}
	}
	return Message{Bad: fmt.Sprintf("unknown WAL message type %d", w.Type)}
}

// ddlTypes are the WAL types whose bodies are the messages of 2.5.
var ddlTypes = map[int]commonpb.MsgType{
	walCreateCollection: commonpb.MsgType_CreateCollection,
	walDropCollection:   commonpb.MsgType_DropCollection,
	walCreatePartition:  commonpb.MsgType_CreatePartition,
	walDropPartition:    commonpb.MsgType_DropPartition,
}

// newWALEvent returns nil for a type without effect here.
func newWALEvent(r *Record, w wire.WAL) (*Event, error) {
	switch w.Type {
	case walCreateCollection, walDropCollection, walCreatePartition, walDropPartition:
		return ddl(ddlTypes[w.Type], r.Value, wire.Base{Timestamp: w.Tick})
	case walFlush:
		n, err := wire.Numbers(w.Header, 3)
		if err != nil {
			return nil, fmt.Errorf("flush header: %w", err)
		}
		return &Event{Seal: &Seal{Collection: int64(n[0]), Segments: []int64{int64(n[2])}}}, nil
	case walManualFlush:
		n, err := wire.Numbers(w.Header, 1)
		if err != nil {
			return nil, fmt.Errorf("manual flush header: %w", err)
		}
		segments, err := wire.Repeated(w.Header, 3)
		if err != nil || len(segments) == 0 {
			return nil, err
		}
		return &Event{Seal: &Seal{Collection: int64(n[0]), Segments: segments}}, nil
	case walFlushAll:
		return &Event{Seal: &Seal{}}, nil
	case walSchemaChange, walAlterCollection:
		return schemaChange(r, w)
	}
	return nil, nil
}

// schemaChange reads the new schema or name of a collection; an alteration of
// anything else has no effect here. That a schema seals the collection's
// segments follows from the event; the list of them in the header is Milvus' own.
func schemaChange(r *Record, w wire.WAL) (*Event, error) {
	n, err := wire.Numbers(w.Header, 2)
	if err != nil {
		return nil, fmt.Errorf("schema change header: %w", err)
	}
	schema, err := wire.Message(r.Value, 1)
	var name []byte
	if w.Type == walAlterCollection && err == nil {
		n[0] = n[1]
		schema, name, err = updates(schema)
	}
	if err != nil {
		return nil, fmt.Errorf("schema change: %w", err)
	}
	if len(schema)+len(name) == 0 {
		return nil, nil
	}
	e := &Event{}
	e.Kind, e.Collection, e.Name = checkpoints.AlterCollection, int64(n[0]), string(name)
	if len(schema) > 0 {
		parsed, err := column.ParseSchema(schema)
		if err != nil {
			return nil, err
		}
		e.Schema = append([]byte(nil), schema...)
		e.Name = cmp.Or(e.Name, parsed.Name)
	}
	return e, checkEvent(e)
}

// updates reads what an alteration of a collection changes.
func updates(b []byte) (schema, name []byte, err error) {
	if name, err = wire.Message(b, 3); err != nil {
		return nil, nil, err
	}
	schema, err = wire.Message(b, 5)
	return schema, name, err
}
