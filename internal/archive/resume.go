package archive

import (
	"cmp"
	"context"
	"slices"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/proto"

	"flowgraph/checkpoints"
)

// resume begins a log at start, which may be behind its first record: what
// the records before it did to schemas and drops is taken from the archive.
func (x *Expected) resume(ctx context.Context, a *Archive, v *VChannel, topic string, partition int32, start int64) error {
	l := x.log(topic, partition)
	l.begun, l.first, l.last, l.blind = true, start, checkpoints.Last(start), start
	if v == nil || v.Doc == nil {
		return nil
	}
	var events []*Event
	for e, err := range a.Events(ctx, v) {
		if err != nil {
			if damaged(err) {
				continue // found again when events are compared
			}
			return err
		}
		if e.TopicID == v.Doc.TopicID {
			events = append(events, e)
		}
	}
	slices.SortFunc(events, func(a, b *Event) int {
		return cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Offset, b.Offset))
	})
	for _, e := range events {
		if e.Undone {
			l.undone(e, v.Doc, start)
		} else {
			l.remember(e, start)
		}
	}
	slices.SortStableFunc(l.behind, func(a, b schemaFrom) int { return cmp.Compare(a.offset, b.offset) })
	for id, c := range v.Doc.Collections {
		l.inherit(id, c, start)
	}
	return nil
}

// remember applies an event that is gone from the log.
func (l *expectedLog) remember(e *Event, start int64) {
	c := l.collection(e.Collection)
	if e.Kind == checkpoints.DropCollection && c.schema == nil {
		c.given(e.Schema) // of a schema that no event gave
	}
	if e.Given && c.schema == nil {
		c.given(e.Schema) // no record has it
	}
	if e.Offset >= start {
		return
	}
	switch e.Kind {
	case checkpoints.CreateCollection, checkpoints.AlterCollection:
		c.given(e.Schema)
	case checkpoints.DropCollection:
		c.drop(&checkpoints.Drop{Offset: e.Offset})
	case checkpoints.DropPartition:
		c.dropPartition(e.Partition, &checkpoints.Drop{Offset: e.Offset})
	}
}

// undone notes an event that the log has lost: what it gave holds from where
// the log was cut back. A drop is none any more.
func (l *expectedLog) undone(e *Event, doc *checkpoints.Document, start int64) {
	from := doc.KeptOf(e.TopicID, e.Generation, checkpoints.Position{Offset: checkpoints.After(e.Offset)}).Offset
	switch {
	case len(e.Schema) == 0 || e.Kind == checkpoints.DropCollection:
	case from <= start:
		l.collection(e.Collection).given(e.Schema)
	default:
		l.behind = append(l.behind, schemaFrom{from, e.Collection, e.Schema})
	}
}

// schemaFrom is a schema that holds from an offset on, of which the log does
// not tell.
type schemaFrom struct {
	offset, collection int64
	raw                []byte
}

// learn takes the schemas that hold from before a record's offset on.
func (l *expectedLog) learn(offset int64) {
	for len(l.behind) > 0 && l.behind[0].offset <= offset {
		l.collection(l.behind[0].collection).given(l.behind[0].raw)
		l.behind = l.behind[1:]
	}
}

// inherit takes over what the document says and no event did.
func (l *expectedLog) inherit(id int64, have *checkpoints.Collection, start int64) {
	c := l.collection(id)
	if c.schema == nil && have.SchemaOffset < start {
		c.given(have.Schema)
	}
	if have.Dropped != nil && have.Dropped.Offset < start {
		c.drop(have.Dropped)
	}
	for pid, p := range have.Partitions {
		if p.Dropped != nil && p.Dropped.Offset < start {
			c.dropPartition(pid, p.Dropped)
		}
	}
}

// given sets a schema whose creation is not in the log.
func (c *expectedCollection) given(raw []byte) {
	schema := new(schemapb.CollectionSchema)
	if len(raw) > 0 && proto.Unmarshal(raw, schema) == nil {
		c.raw, c.schema, c.created = raw, schema, -1
	}
}

func (c *expectedCollection) drop(d *checkpoints.Drop) {
	if c.dropped == nil {
		c.dropped = &d.Offset
	}
}

func (c *expectedCollection) dropPartition(id int64, d *checkpoints.Drop) {
	if _, again := c.partitions[id]; !again && c.dropped == nil {
		c.partitions[id] = d.Offset
	}
}

// meet notes where segments were met by records that are gone.
func (x *Expected) meet(ctx context.Context, a *Archive) error {
	for s, err := range a.Segments(ctx) {
		if err != nil {
			if damaged(err) {
				continue
			}
			return err
		}
		l := x.logs[s.VChannel]
		if doc := a.doc(s.VChannel); l == nil || s.Auto || doc == nil || doc.TopicID != s.TopicID || s.Start.Offset >= l.blind {
			continue
		}
		l.segments[s.ID] = [2]int64{s.Collection, s.Partition}
	}
	return nil
}

// seesNot notes that a transaction with this identity began before the log
// does: it was applied, but its rows cannot be known.
func (l *expectedLog) seesNot(identity int64) {
	if l.blind > 0 {
		l.blind = max(l.blind, checkpoints.After(identity))
	}
}

// ahead is how far rows may be ahead of the ticks around them: ten seconds of
// hybrid time, and ticks come five times a second.
const ahead = 10_000 << 18

// inDoubt says whether a message may be the repeat of one that is gone from
// the log: one is remembered over so many messages, and until a tick at or
// above its rows' timestamps, which are not far ahead of the log's first tick
// if its first copy was before that.
func (l *expectedLog) inDoubt(id int64, timestamps []uint64) doubt {
	r := &l.repeats
	if l.blind == 0 || id == 0 || r.messages >= remembered {
		return certain
	}
	if len(timestamps) == 0 || r.lowest == 0 {
		return perhapsRepeat
	}
	if ts := slices.Max(timestamps); ts > r.highest && ts <= r.lowest+ahead {
		return perhapsRepeat
	}
	return certain
}

// unread says whether rows in this range may be of records that were not
// read.
func (l *expectedLog) unread(start, end int64) bool { return start < l.blind || end > l.end }
