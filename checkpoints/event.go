package checkpoints

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// event lets a DDL event enter the document. One at or below the last one of
// its collection is a replay and changes nothing; so does one on something
// that is dropped, since what is created again has a new ID.
func (d *Document) event(e Event) error {
	if err := e.check(); err != nil {
		return fmt.Errorf("%w: %w", ErrChange, err)
	}
	if old := d.Collections[e.Collection]; old != nil && e.Offset <= old.LastDDL {
		return nil
	}
	c := d.collection(e.Collection)
	c.LastDDL = e.Offset
	if c.Dropped != nil {
		return nil
	}
	switch e.Kind {
	case CreateCollection, AlterCollection:
		d.define(c, e)
	case CreatePartition:
		if p := c.Partitions[e.Partition]; p != nil && p.Dropped != nil {
			return nil
		}
		d.partition(e.Collection, e.Partition, e.Name)
	case DropPartition:
		if p := c.Partitions[e.Partition]; p != nil && p.Dropped != nil {
			return nil
		}
		d.dropPartition(&e)
	case DropCollection:
		d.dropCollection(c, &e)
	}
	e.Generation = d.Generation()
	d.Events = append(d.Events, e)
	return nil
}

func (d *Document) define(c *Collection, e Event) {
	if e.Name != "" {
		c.Name = e.Name
	}
	if len(e.Schema) > 0 {
		c.Schema, c.SchemaOffset = e.Schema, e.Offset
	}
	for id, name := range e.Partitions {
		if p := c.Partitions[id]; p == nil {
			c.Partitions[id] = &Partition{Name: name}
		} else if name != "" && p.Dropped == nil {
			named := *p
			named.Name = name
			c.Partitions[id] = &named
		}
	}
}

// dropPartition marks the partition and what is in it. The event takes along
// what the document is going to forget.
func (d *Document) dropPartition(e *Event) {
	p := *d.partition(e.Collection, e.Partition, "")
	if e.Name == "" {
		e.Name = p.Name
	}
	p.Dropped = &Drop{Offset: e.Offset, Timestamp: e.Timestamp}
	d.collection(e.Collection).Partitions[e.Partition] = &p
	d.dropSegments(func(s *Segment) bool { return s.Collection == e.Collection && s.Partition == e.Partition })
}

func (d *Document) dropCollection(c *Collection, e *Event) {
	if e.Name == "" {
		e.Name = c.Name
	}
	if c.SchemaOffset < 0 {
		e.Schema = c.Schema // no other event has it
	}
	names := map[int64]string{}
	for id, p := range c.Partitions {
		if p.Name != "" {
			names[id] = p.Name
		}
	}
	e.Partitions = names
	c.Dropped = &Drop{Offset: e.Offset, Timestamp: e.Timestamp}
	d.dropSegments(func(s *Segment) bool { return s.Collection == e.Collection })
}

func (d *Document) dropSegments(in func(*Segment) bool) {
	for id, s := range d.Segments {
		if s.State != Dropped && in(s) {
			dropped := *s
			dropped.State = Dropped
			d.Segments[id] = &dropped
		}
	}
}

func (e *Event) check() error {
	if err := checkOffset(e.Offset); err != nil {
		return fmt.Errorf("DDL event: %w", err)
	}
	switch e.Kind {
	case CreateCollection, AlterCollection, DropCollection, CreatePartition, DropPartition:
		if e.Generation < 0 {
			return fmt.Errorf("DDL event of generation %d: %w", e.Generation, ErrInvalid)
		}
		return nil
	}
	return fmt.Errorf("DDL event %q at offset %d: %w", e.Kind, e.Offset, ErrInvalid)
}

// eventPlace is where an event stood: of two generations of a log two events
// may stand at one offset.
type eventPlace struct {
	generation int
	offset     int64
}

func (e *Event) place() eventPlace { return eventPlace{e.Generation, e.Offset} }

func (e *Event) key(vchannel, topicID string) string {
	return EventKey(vchannel, LogName(topicID, e.Generation), e.Offset)
}

// eventFile is a DDL event as an object of its own.
type eventFile struct {
	Version  int    `json:"version"`
	VChannel string `json:"vchannel"`
	TopicID  string `json:"topic_id"`
	Event    Event  `json:"event"`
}

// DecodeEvent reads a DDL event that was stored under key.
func DecodeEvent(key string, data []byte) (*Event, error) {
	var f eventFile
	if err := decodeStrict(data, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	if err := f.Event.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	if f.Version != Version || f.Event.key(f.VChannel, f.TopicID) != key {
		return nil, fmt.Errorf("%s: holds version %d, offset %d of %s: %w", key, f.Version, f.Event.Offset, f.VChannel, ErrInvalid)
	}
	return &f.Event, nil
}

// putEvent stores a DDL event that d, a committed document, shows.
func putEvent(ctx context.Context, b Bucket, d *Document, e Event, meta map[string]string) error {
	key := e.key(d.VChannel, d.TopicID)
	data, err := json.Marshal(eventFile{Version, d.VChannel, d.TopicID, e})
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	_, err = b.Put(ctx, key, Object{Parts: [][]byte{data}, Meta: meta}, Condition{})
	if !errors.Is(err, ErrConflict) {
		return err
	}
	stored, _, getErr := b.Get(ctx, key)
	if getErr != nil {
		return getErr
	}
	have, decodeErr := DecodeEvent(key, stored)
	if decodeErr != nil {
		return decodeErr
	}
	if !sameJSON(have, e) {
		return fmt.Errorf("%w: it holds another event", err)
	}
	return nil
}

// sameJSON compares what would be stored.
func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
