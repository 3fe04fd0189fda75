package archive

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"

	"flowgraph/internal/recording"
)

// walRecord is what the headers of a streaming WAL record (Milvus 2.6) say.
type walRecord struct {
	kind      int
	tick      uint64
	header    []byte
	inTxn     bool
	txn       uint64
	keepalive int64 // ms; negative: for ever
	version   string
	control   bool // of the coordinators' channel
}

// walOf reads the headers; ok is false for a record of an earlier release.
func walOf(r *recording.Record) (w walRecord, ok bool, err error) {
	headers := map[string]string{}
	for _, h := range r.Headers {
		headers[h.Name] = string(h.Value)
	}
	if _, ok = headers["_v"]; !ok {
		return w, false, nil
	}
	w.version, w.control = headers["_v"], strings.HasSuffix(headers["_vc"], "_vcchan")
	if _, encrypted := headers["_ch"]; encrypted && !w.control {
		return w, true, errors.New("encrypted")
	}
	if w.kind, err = strconv.Atoi(headers["_t"]); err != nil {
		return w, true, err
	}
	if w.tick, err = strconv.ParseUint(headers["_tt"], 36, 64); err != nil {
		return w, true, err
	}
	if w.header, err = base64.StdEncoding.DecodeString(headers["_h"]); err != nil {
		return w, true, err
	}
	context, inTxn := headers["_tx"]
	if !inTxn {
		return w, true, nil
	}
	raw, err := base64.StdEncoding.DecodeString(context)
	if err != nil {
		return w, true, err
	}
	fields, err := messageOf(raw)
	w.inTxn, w.txn, w.keepalive = true, fields.number(1), int64(fields.number(2))
	return w, true, err
}

// walKind maps the WAL types whose bodies are messages of 2.5 to those.
func walKind(kind int) commonpb.MsgType {
	return map[int]commonpb.MsgType{
		1: commonpb.MsgType_TimeTick, 2: commonpb.MsgType_Insert, 3: commonpb.MsgType_Delete,
		5: commonpb.MsgType_CreateCollection, 6: commonpb.MsgType_DropCollection,
		7: commonpb.MsgType_CreatePartition, 8: commonpb.MsgType_DropPartition,
	}[kind]
}

// transaction is one that is open.
type transaction struct {
	keepalive int64
	last      uint64 // tick of its last record
	members   []member
}

type member struct {
	letter
	rows func(letter) error
	err  error // it cannot be read
}

// wal lets a WAL record have its effect.
func (x *Expected) wal(l *expectedLog, w walRecord, r *recording.Record) error {
	if w.tick < l.tick {
		x.BelowTick++
		return nil
	}
	if w.control && w.kind != 1 && w.kind != 37 && w.kind != 700 {
		return nil
	}
	if err := w.known(); err != nil {
		return err
	}
	m := letter{kind: walKind(w.kind), value: r.Value, offset: r.Offset, identity: r.Offset, tick: w.tick, wal: true}
	if l.blind > 0 && !l.ticked {
		m.doubt = perhapsLeftOut // it may be below a tick that is gone
	}
	switch w.kind {
	case 900:
		l.open[w.txn] = &transaction{keepalive: w.keepalive, last: w.tick}
		return nil
	case 901:
		x.commit(l, w.txn, m)
		return nil
	case 902:
		delete(l.open, w.txn)
		return nil
	case 2, 3:
		return x.walRows(l, w, m)
	case 12, 13:
		return l.alter(w, m)
	case 1:
		for id, t := range l.open {
			if t.keepalive >= 0 && t.keepalive < 1<<45 && t.last+uint64(t.keepalive)<<18 <= w.tick {
				delete(l.open, id)
			}
		}
	}
	if m.kind == commonpb.MsgType_Undefined {
		if !withoutEffect(w.kind) {
			return fmt.Errorf("WAL message of unknown type %d", w.kind)
		}
		return nil
	}
	return x.take(l, m)
}

// withoutEffect lists what may stand in a WAL and is no bad record. Of the
// others some have an effect that is not followed: they empty a collection
// (38), or end the log (700).
func withoutEffect(kind int) bool {
	return kind >= 1 && kind <= 37 || kind >= 39 && kind <= 41 || kind == 47 || kind == 48 || kind == 800
}

// known says why the record's body cannot be told from its headers.
func (w *walRecord) known() error {
	first := w.version == "1"
	switch kind := w.kind; {
	case !first && w.version != "2":
		return fmt.Errorf("version %s", w.version)
	case !first && kind > 1 && walKind(kind) != commonpb.MsgType_Undefined:
		return fmt.Errorf("version %s of type %d", w.version, kind)
	case kind >= 900 && kind <= 902 && !w.inTxn:
		return errors.New("no transaction")
	}
	return nil
}

// walRows takes an insert or delete, now or at its transaction's commit. One
// of an unknown transaction is none.
func (x *Expected) walRows(l *expectedLog, w walRecord, m letter) error {
	t := l.open[w.txn]
	if w.inTxn && t == nil {
		l.seesNot(m.identity)
		return nil
	}
	rows, err := x.rowsOf(l, m)
	if err == nil && rows != nil && w.kind == 2 {
		m.segment, err = assigned(w.header, m.value)
	}
	switch {
	case w.inTxn && (err != nil || rows != nil):
		t.last = w.tick
		t.members = append(t.members, member{m, rows, err})
		return nil
	case err != nil || rows == nil:
		return err
	}
	return rows(m)
}

// commit gives the members of a transaction the commit's identity and time.
func (x *Expected) commit(l *expectedLog, txn uint64, commit letter) {
	t := l.open[txn]
	if t == nil {
		l.seesNot(commit.identity)
		return
	}
	delete(l.open, txn)
	for _, m := range t.members {
		err := m.err
		if err == nil {
			m.identity, m.tick = commit.identity, commit.tick
			err = m.rows(m.letter)
		}
		if err != nil {
			x.putAside(l, m.offset, m.value, err)
		}
	}
}

// alter reads a collection's new schema, where there is one.
func (l *expectedLog) alter(w walRecord, m letter) error {
	header, err := messageOf(w.header)
	if err != nil {
		return err
	}
	collection := header.number(1)
	body, err := messageOf(m.value)
	if err != nil {
		return err
	}
	schema, name := body.last(1), ""
	if w.kind == 13 {
		collection = header.number(2)
		updates, err := messageOf(schema)
		if err != nil {
			return err
		}
		schema, name = updates.last(5), string(updates.last(3))
	}
	if len(schema) > 0 {
		if err := l.define(int64(collection), schema, m.offset); err != nil {
			return err
		}
	}
	if name != "" {
		l.collection(int64(collection)).name = name
	}
	return nil
}
