package archive

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"flowgraph/checkpoints"
)

// ddl compares schemas and drops with what the documents and events say.
func (c *check) ddl(ctx context.Context) error {
	for _, v := range c.archive.vchannels {
		l := c.want.logs[v.Name]
		if l == nil || v.Doc == nil {
			continue
		}
		events, undone := map[int64]*Event{}, map[int64][]*Event{}
		for e, err := range c.archive.Events(ctx, v) {
			if err == nil && e.TopicID == v.Doc.TopicID && !e.Undone {
				events[e.Offset] = e
			}
			if err == nil && e.Undone {
				undone[e.Collection] = append(undone[e.Collection], e)
			}
			if err = c.tolerate(err); err != nil {
				return err
			}
		}
		for id, want := range l.collections {
			d := &ddlCheck{check: c, log: l, doc: v.Doc, events: events, undone: undone[id]}
			d.collection(id, want)
		}
	}
	return nil
}

type ddlCheck struct {
	*check
	log    *expectedLog
	doc    *checkpoints.Document
	events map[int64]*Event // by offset
	undone []*Event         // of the collection
}

func (d *ddlCheck) collection(id int64, want *expectedCollection) {
	have := d.doc.Collections[id]
	if have == nil {
		have = &checkpoints.Collection{}
	}
	what := fmt.Sprintf("%s: collection %d", d.log.vchannel, id)
	d.drop(what, checkpoints.DropCollection, want.dropped, have.Dropped)
	for pid, p := range have.Partitions {
		if offset, dropped := want.partitions[pid]; dropped {
			d.drop(fmt.Sprintf("%s, partition %d", what, pid), checkpoints.DropPartition, &offset, p.Dropped)
		} else {
			d.drop(fmt.Sprintf("%s, partition %d", what, pid), checkpoints.DropPartition, nil, p.Dropped)
		}
	}
	for pid, offset := range want.partitions {
		if have.Partitions[pid] == nil {
			d.drop(fmt.Sprintf("%s, partition %d", what, pid), checkpoints.DropPartition, &offset, nil)
		}
	}
	if want.created < 0 || d.partial && want.created >= d.doc.Seek.Offset {
		return
	}
	holds := func(e *Event) bool { return e != nil && bytes.Equal(e.Schema, want.raw) }
	// What the log has lost and has once more is nothing new.
	if !holds(d.events[want.created]) && !slices.ContainsFunc(d.undone, holds) {
		d.problem("%s: no DDL event holds the schema of offset %d", what, want.created)
	}
	if have.SchemaOffset >= d.log.end {
		return // changed since the log was read
	}
	if have.Dropped == nil && (!bytes.Equal(have.Schema, want.raw) || have.Name != want.name) {
		d.problem("%s: the document has the name %q and another schema than offset %d, whose name is %q",
			what, have.Name, want.created, want.name)
	}
}

// drop compares one drop: the mark in the document, and the event.
func (d *ddlCheck) drop(what string, kind checkpoints.EventKind, want *int64, have *checkpoints.Drop) {
	switch {
	case want == nil && have == nil:
		return
	case want == nil && have.Offset >= d.log.end:
		return // dropped since the log was read
	case want == nil:
		d.problem("%s is marked dropped at %d, but was not", what, have.Offset)
		return
	case *want < 0:
		return
	case have == nil && d.partial && *want >= d.doc.Seek.Offset:
		return
	case have == nil:
		d.problem("%s was dropped at offset %d and is not marked", what, *want)
		return
	case have.Offset != *want:
		d.problem("%s was dropped at offset %d and is marked at %d", what, *want, have.Offset)
		return
	}
	if e := d.events[*want]; e == nil || e.Kind != kind {
		d.problem("%s: no DDL event tells of the drop at offset %d", what, *want)
	}
}

// quarantine compares the bad records with those that were produced.
func (c *check) quarantine(ctx context.Context) error {
	for _, v := range c.archive.vchannels {
		l := c.want.logs[v.Name]
		if l == nil || v.Doc == nil {
			continue
		}
		kept := map[int64]bool{}
		for g := range v.Doc.Generation() + 1 {
			for key, err := range c.archive.list(ctx, checkpoints.QuarantinePrefix(v.Name, checkpoints.LogName(v.Doc.TopicID, g))) {
				if err != nil {
					return err
				}
				offset, err := c.kept(ctx, l, key, func(o int64) bool { return v.Doc.Holds(v.Doc.TopicID, g, o) })
				if err = c.tolerate(err); err != nil {
					return err
				}
				kept[offset] = true
			}
		}
		for offset, bad := range l.bad {
			if offset >= 0 && !kept[offset] && !(c.partial && offset >= v.Doc.Seek.Offset) {
				c.problem("%s offset %d is not in quarantine: %s", v.Name, offset, bad.reason)
			}
		}
	}
	return nil
}

func ofEarlierEpoch(info checkpoints.Info, doc *checkpoints.Document) bool {
	epoch, err := strconv.ParseInt(info.Meta[checkpoints.MetaEpoch], 10, 64)
	return err == nil && epoch > 0 && epoch < doc.Epoch
}

// kept checks one record in quarantine and returns its offset; -1 for one that
// its log has no more.
func (c *check) kept(ctx context.Context, l *expectedLog, key string, holds func(int64) bool) (int64, error) {
	name := key[strings.LastIndexByte(key, '/')+1:]
	offset, err := strconv.ParseInt(strings.TrimSuffix(name, ".json"), 10, 64)
	if err != nil {
		return -1, fmt.Errorf("%s: not the key of a record: %w", key, ErrDamaged)
	}
	if !holds(offset) {
		return -1, nil
	}
	data, info, err := c.archive.bucket.Get(ctx, key)
	if err != nil {
		return offset, err
	}
	var record struct {
		Offset int64  `json:"offset"`
		Value  []byte `json:"value"`
		Reason string `json:"reason"`
	}
	if err := json.Unmarshal(data, &record); err != nil {
		return offset, fmt.Errorf("%s: %w: %w", key, ErrDamaged, err)
	}
	c.report.Quarantined++
	switch bad, ok := l.bad[offset]; {
	case !ok && l.unread(offset, checkpoints.After(offset)):
	case !ok && ofEarlierEpoch(info, c.archive.doc(l.vchannel)):
		// Kept and never committed: of a record that the log has lost since. The
		// rows of one that it has would be missing.
	case !ok:
		c.problem("%s offset %d is in quarantine (%s), but it is a good record", l.vchannel, offset, record.Reason)
	case record.Offset != offset || !bytes.Equal(record.Value, bad.value):
		c.problem("%s does not hold the record of offset %d", key, offset)
	}
	return offset, nil
}
