package archive

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/msgpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/proto"

	"flowgraph/internal/recording"
)

// Add takes the next record of its partition into account.
func (x *Expected) Add(r recording.Record) {
	x.Records++
	l := x.log(r.Topic, r.Partition)
	if !l.begun {
		l.begun, l.first = true, r.Offset
	}
	l.last = r.Offset
	if err := x.add(l, &r); err != nil {
		x.Bad++
		l.bad[r.Offset] = badRecord{bytes.Clone(r.Value), err.Error()}
	}
}

// add returns why the record belongs into quarantine.
func (x *Expected) add(l *expectedLog, r *recording.Record) error {
	var head msgpb.TimeTickMsg // all messages have the base in this place, and nothing else is looked at
	if len(r.Value) == 0 {
		return errors.New("the record has no value")
	}
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(r.Value, &head); err != nil {
		return fmt.Errorf("no message: %w", err)
	}
	switch kind := kindOf(r, head.GetBase().GetMsgType()); kind {
	case commonpb.MsgType_TimeTick:
		l.repeats.tick(head.GetBase().GetTimestamp())
	case commonpb.MsgType_Insert:
		return x.insert(l, r)
	case commonpb.MsgType_Delete:
		return x.delete(l, r)
	case commonpb.MsgType_CreateCollection:
		return l.create(r)
	case commonpb.MsgType_DropCollection:
		var m msgpb.DropCollectionRequest
		if err := proto.Unmarshal(r.Value, &m); err != nil {
			return err
		}
		if c := l.collection(m.GetCollectionID()); c.dropped == nil {
			c.dropped = &r.Offset
		}
	case commonpb.MsgType_DropPartition:
		var m msgpb.DropPartitionRequest
		if err := proto.Unmarshal(r.Value, &m); err != nil {
			return err
		}
		c := l.collection(m.GetCollectionID())
		if _, again := c.partitions[m.GetPartitionID()]; !again && c.dropped == nil {
			c.partitions[m.GetPartitionID()] = r.Offset
		}
	default:
		if _, known := commonpb.MsgType_name[int32(kind)]; !known || kind == commonpb.MsgType_Undefined {
			return fmt.Errorf("message of unknown type %d", kind)
		}
	}
	return nil
}

// kindOf is the message's type: by the header of 2.4 and later, else the base.
func kindOf(r *recording.Record, base commonpb.MsgType) commonpb.MsgType {
	for _, h := range r.Headers {
		if t, ok := commonpb.MsgType_value[string(h.Value)]; ok && h.Name == "msg_type" {
			return commonpb.MsgType(t)
		}
	}
	return base
}

func (l *expectedLog) create(r *recording.Record) error {
	var m msgpb.CreateCollectionRequest
	if err := proto.Unmarshal(r.Value, &m); err != nil {
		return err
	}
	raw := m.GetSchema()
	if len(raw) == 0 {
		var err error
		if raw, err = proto.Marshal(m.GetCollectionSchema()); err != nil {
			return err
		}
	}
	schema := new(schemapb.CollectionSchema)
	if err := proto.Unmarshal(raw, schema); err != nil {
		return err
	}
	c := l.collection(m.GetCollectionID())
	if c.schema == nil || !bytes.Equal(c.raw, raw) {
		c.raw, c.schema, c.created = raw, schema, r.Offset
	}
	return nil
}

// insert notes the rows of a message.
func (x *Expected) insert(l *expectedLog, r *recording.Record) error {
	m := new(msgpb.InsertRequest)
	if err := proto.Unmarshal(r.Value, m); err != nil {
		return err
	}
	if m.GetCollectionID() <= 0 || m.GetSegmentID() < 0 {
		return errors.New("an ID is missing or negative")
	}
	if l.repeats.again(m.GetBase().GetMsgID(), m.GetShardName(), commonpb.MsgType_Insert, m.GetTimestamps()) {
		x.Repeated++
		return nil
	}
	c := l.collection(m.GetCollectionID())
	if c.gone(m.GetPartitionID()) {
		x.Excluded += int64(m.GetNumRows())
		return nil
	}
	at := [2]int64{m.GetCollectionID(), m.GetPartitionID()}
	if met, ok := l.segments[m.GetSegmentID()]; ok && met != at && m.GetSegmentID() != 0 {
		return fmt.Errorf("segment %d was met in another place", m.GetSegmentID())
	}
	l.segments[m.GetSegmentID()] = at
	if c.schema == nil {
		return fmt.Errorf("collection %d was not created before it", m.GetCollectionID())
	}
	columns, err := c.columns(m)
	if err != nil {
		return err
	}
	place := x.place(placeOf{l, at[0], at[1]})
	for i, id := range m.GetRowIDs() {
		x.rows.add(x.digest.row(place, uint64(id), m.GetTimestamps()[i], columns, i), entry{
			place: place, kind: rowEntry, id: id, identity: r.Offset, segment: m.GetSegmentID(),
		})
	}
	x.Rows += int64(len(m.GetRowIDs()))
	return nil
}

// delete notes the deletes of a message.
func (x *Expected) delete(l *expectedLog, r *recording.Record) error {
	m := new(msgpb.DeleteRequest)
	if err := proto.Unmarshal(r.Value, m); err != nil {
		return err
	}
	if m.GetCollectionID() <= 0 {
		return errors.New("an ID is missing or negative")
	}
	if l.repeats.again(m.GetBase().GetMsgID(), m.GetShardName(), commonpb.MsgType_Delete, m.GetTimestamps()) {
		x.Repeated++
		return nil
	}
	c := l.collection(m.GetCollectionID())
	if c.gone(m.GetPartitionID()) {
		x.Excluded += m.GetNumRows()
		return nil
	}
	if c.schema == nil {
		return fmt.Errorf("collection %d was not created before it", m.GetCollectionID())
	}
	keys, err := c.keys(m)
	if err != nil {
		return err
	}
	place := x.place(placeOf{l, m.GetCollectionID(), m.GetPartitionID()})
	for i, ts := range m.GetTimestamps() {
		x.Deletes++
		x.rows.add(x.digest.delete(place, keys(i), ts), entry{
			place: place, kind: deleteEntry, id: x.Deletes, identity: r.Offset,
		})
	}
	return nil
}

// gone says whether the partition or its collection was dropped before.
func (c *expectedCollection) gone(partition int64) bool {
	_, dropped := c.partitions[partition]
	return dropped || c.dropped != nil
}
