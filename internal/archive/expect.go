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
	l.learn(r.Offset)
	if err := x.add(l, &r); err != nil {
		x.putAside(l, r.Offset, r.Value, err)
	}
}

// putAside expects a record in quarantine.
func (x *Expected) putAside(l *expectedLog, offset int64, value []byte, err error) {
	x.Bad++
	l.bad[offset] = badRecord{bytes.Clone(value), err.Error()}
}

// letter is a message with what its envelope says of it.
type letter struct {
	kind     commonpb.MsgType
	value    []byte
	offset   int64 // of its record
	identity int64 // offset that decides about its rows
	tick     uint64
	wal      bool // tick and segment are the envelope's and replace what is in the body
	doubt    doubt
	segment  int64 // with wal
}

// add returns why the record belongs into quarantine.
func (x *Expected) add(l *expectedLog, r *recording.Record) error {
	if w, ok, err := walOf(r); ok {
		if err == nil {
			err = x.wal(l, w, r)
		}
		return err
	}
	var head msgpb.TimeTickMsg // all messages have the base in this place, and nothing else is looked at
	if len(r.Value) == 0 {
		return errors.New("the record has no value")
	}
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(r.Value, &head); err != nil {
		return fmt.Errorf("no message: %w", err)
	}
	return x.take(l, letter{
		kind: kindOf(r, head.GetBase().GetMsgType()), value: r.Value, offset: r.Offset, identity: r.Offset,
		tick: head.GetBase().GetTimestamp(),
	})
}

// take lets a message have its effect.
func (x *Expected) take(l *expectedLog, m letter) error {
	switch m.kind {
	case commonpb.MsgType_TimeTick:
		l.tick, l.ticked = max(l.tick, m.tick), true
		l.repeats.tick(m.tick)
	case commonpb.MsgType_Insert, commonpb.MsgType_Delete:
		rows, err := x.rowsOf(l, m)
		if err == nil && rows != nil {
			err = rows(m)
		}
		return err
	case commonpb.MsgType_CreateCollection:
		return l.create(m)
	case commonpb.MsgType_DropCollection:
		var request msgpb.DropCollectionRequest
		if err := proto.Unmarshal(m.value, &request); err != nil {
			return err
		}
		if c := l.collection(request.GetCollectionID()); c.dropped == nil {
			c.dropped = &m.offset
		}
	case commonpb.MsgType_DropPartition:
		var request msgpb.DropPartitionRequest
		if err := proto.Unmarshal(m.value, &request); err != nil {
			return err
		}
		c := l.collection(request.GetCollectionID())
		if _, again := c.partitions[request.GetPartitionID()]; !again && c.dropped == nil {
			c.partitions[request.GetPartitionID()] = m.offset
		}
	default:
		if _, known := commonpb.MsgType_name[int32(m.kind)]; !known || m.kind == commonpb.MsgType_Undefined || m.kind == commonpb.MsgType_TruncateCollection {
			return fmt.Errorf("message of unknown type %d", m.kind)
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

func (l *expectedLog) create(m letter) error {
	var request msgpb.CreateCollectionRequest
	if err := proto.Unmarshal(m.value, &request); err != nil {
		return err
	}
	//lint:ignore SA1019 no release up to 2.5 sets the field that replaces it
	raw := request.GetSchema()
	if len(raw) == 0 {
		var err error
		if raw, err = proto.Marshal(request.GetCollectionSchema()); err != nil {
			return err
		}
	}
	return l.define(request.GetCollectionID(), raw, m.offset)
}

// define notes a collection's schema; a copy of the one it has is none.
func (l *expectedLog) define(collection int64, raw []byte, offset int64) error {
	schema := new(schemapb.CollectionSchema)
	if err := proto.Unmarshal(raw, schema); err != nil {
		return err
	}
	c := l.collection(collection)
	if c.schema == nil || !bytes.Equal(c.raw, raw) {
		c.name, c.raw, c.schema, c.created = schema.GetName(), raw, schema, offset
	}
	return nil
}

// gone says whether the partition or its collection was dropped before.
func (c *expectedCollection) gone(partition int64) bool {
	_, dropped := c.partitions[partition]
	return dropped || c.dropped != nil
}
