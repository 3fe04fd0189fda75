package archive

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"flowgraph/checkpoints"
)

// Event is one DDL event with the log that it stands in.
type Event struct {
	checkpoints.Event
	TopicID string
	Key     string // of its object; "" while it is in the document
	// Undone: the log was cut back before it. What it created or changed is
	// known by it alone and stays; a drop is none any more.
	Undone bool
}

// Events yields the DDL events of a vchannel, those of earlier logs of the
// topic included: the objects by key, then those still in the document.
func (a *Archive) Events(ctx context.Context, v *VChannel) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		stored := map[eventAt]bool{} // the document's events that have an object too
		for e, err := range ordered(ctx, gets, a.list(ctx, eventPrefix(v.Name)), a.event) {
			if err == nil && v.Doc != nil && e.TopicID == v.Doc.TopicID && v.holds(e.at()) {
				stored[e.at()] = true
			}
			if err == nil {
				e.Undone = v.undone(e)
			}
			if !yield(e, err) {
				return
			}
		}
		if v.Doc == nil {
			return
		}
		events := slices.Clone(v.Doc.Events)
		slices.SortFunc(events, func(x, y checkpoints.Event) int {
			return cmp.Or(cmp.Compare(x.Generation, y.Generation), cmp.Compare(x.Offset, y.Offset))
		})
		for _, e := range events {
			open := &Event{Event: e, TopicID: v.Doc.TopicID}
			open.Undone = v.undone(open)
			if !stored[open.at()] && !yield(open, nil) {
				return
			}
		}
	}
}

// eventAt is an event's place in its log.
type eventAt struct {
	generation int
	offset     int64
}

func (e *Event) at() eventAt { return eventAt{e.Generation, e.Offset} }

func (v *VChannel) holds(at eventAt) bool {
	return slices.ContainsFunc(v.Doc.Events, func(e checkpoints.Event) bool { return eventAt{e.Generation, e.Offset} == at })
}

// undone says whether the event stood in an end that its log has lost.
func (v *VChannel) undone(e *Event) bool {
	return v.Doc != nil && !v.Doc.Holds(e.TopicID, e.Generation, e.Offset)
}

// eventPrefix is where the events of all logs of a vchannel lie.
func eventPrefix(vchannel string) string { return "ddl/" + vchannel + "/" }

func (a *Archive) event(ctx context.Context, key string) (*Event, error) {
	data, _, err := a.bucket.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	e, err := checkpoints.DecodeEvent(key, data)
	if err != nil {
		return nil, err
	}
	parts := strings.Split(key, "/") // ddl/<vchannel>/<log>/<offset>.json
	topicID := strings.TrimSuffix(parts[len(parts)-2], checkpoints.LogName("", e.Generation))
	return &Event{Event: *e, TopicID: topicID, Key: key}, nil
}

// list yields the keys under a prefix.
func (a *Archive) list(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for info, err := range a.bucket.List(ctx, prefix) {
			if !yield(info.Key, err) || err != nil {
				return
			}
		}
	}
}

// logPlace is a partition, or with wholeCollection a collection, in one log.
type logPlace struct {
	vchannel, topicID     string
	collection, partition int64
}

// wholeCollection is no partition's ID; -1 stands for the deletes of all.
const wholeCollection = -2

// past is what is known of a place.
type past struct {
	name string
	drop *checkpoints.Drop
}

// LoadHistory reads all DDL events for what the documents have forgotten: the
// names of what was dropped, and the drops of logs that were accepted away.
// Without it such segments have no name. It costs a request an event.
func (a *Archive) LoadHistory(ctx context.Context) error {
	history := map[logPlace]past{}
	for _, v := range a.vchannels {
		for e, err := range a.Events(ctx, v) {
			if err != nil {
				return err
			}
			remember(history, v.Name, e)
		}
	}
	a.history = history
	return nil
}

func remember(history map[logPlace]past, vchannel string, e *Event) {
	note := func(partition int64, name string, dropped bool) {
		at := logPlace{vchannel, e.TopicID, e.Collection, partition}
		p := history[at]
		p.name = cmp.Or(name, p.name)
		if dropped && p.drop == nil {
			p.drop = &checkpoints.Drop{Offset: e.Offset, Timestamp: e.Timestamp}
		}
		history[at] = p
	}
	switch e.Kind {
	case checkpoints.CreatePartition, checkpoints.DropPartition:
		note(e.Partition, e.Name, e.Kind == checkpoints.DropPartition && !e.Undone)
		return
	}
	note(wholeCollection, e.Name, e.Kind == checkpoints.DropCollection && !e.Undone)
	for id, name := range e.Partitions {
		note(id, name, false)
	}
}

// past is what the document says of a place, else what the events said.
func (a *Archive) past(at logPlace) past {
	p := a.history[at]
	v := a.byName[at.vchannel]
	if v == nil || v.Doc == nil || v.Doc.TopicID != at.topicID || v.Doc.Collections[at.collection] == nil {
		return p
	}
	c := v.Doc.Collections[at.collection]
	if at.partition == wholeCollection {
		return past{cmp.Or(c.Name, p.name), c.Dropped}
	}
	if part := c.Partitions[at.partition]; part != nil {
		return past{cmp.Or(part.Name, p.name), part.Dropped}
	}
	return past{name: p.name}
}
