package stages

import (
	"fmt"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/msgpb"
	"google.golang.org/protobuf/proto"

	"flowgraph/checkpoints"
	"flowgraph/stages/column"
	"flowgraph/stages/wire"
)

// message reads one record of Milvus 2.2 to 2.5: the value is the request
// itself. A record that says nothing here, such as a tick, gives an empty
// message.
func (d *Decoder) message(b *batch, r *Record, at checkpoints.Position) Message {
	if len(r.Value) == 0 {
		return Message{Bad: "empty: the record has no value"}
	}
	base, rest := wire.Open(r.Value)
	switch messageType(r.Headers, base.Type) {
	case commonpb.MsgType_Insert:
		return d.once(b, insert(b, base, rest), at)
	case commonpb.MsgType_Delete:
		return d.once(b, remove(b, r), at)
	}
	return d.other(b, r)
}

// other reads what is not rows.
func (d *Decoder) other(b *batch, r *Record) Message {
	base, err := wire.ParseBase(r.Value)
	if err != nil {
		return bad(err)
	}
	kind := messageType(r.Headers, base.Type)
	switch kind {
	case commonpb.MsgType_TimeTick:
		d.tick(base.Timestamp, r.Offset)
		return Message{}
	case commonpb.MsgType_CreateCollection, commonpb.MsgType_DropCollection,
		commonpb.MsgType_CreatePartition, commonpb.MsgType_DropPartition:
		event, err := ddl(kind, r.Value, base)
		if err != nil {
			return bad(err)
		}
		event.Offset = r.Offset
		return Message{Event: event}
	}
	name, known := commonpb.MsgType_name[int32(kind)]
	if !known || kind == commonpb.MsgType_Undefined || kind == commonpb.MsgType_TruncateCollection {
		return Message{Bad: fmt.Sprintf("unknown message type %d", kind)}
	}
	b.pack.Counts.Ignored.note(name)
	return Message{}
}

// messageType trusts the header of 2.4 and 2.5 where it names a type, else
// the base, which every message has.
func messageType(headers []wire.Header, base int32) commonpb.MsgType {
	for _, h := range headers {
		if h.Key == "msg_type" {
			if t, ok := commonpb.MsgType_value[string(h.Value)]; ok {
				return commonpb.MsgType(t)
			}
		}
	}
	return commonpb.MsgType(base)
}

func bad(err error) Message { return Message{Bad: err.Error()} }

func (d *Decoder) tick(ts uint64, offset int64) {
	if ts > d.next.Tick {
		d.next.Tick, d.tickAt = ts, offset
	}
	d.window.tick(ts)
}

func insert(b *batch, base wire.Base, rest []byte) Message {
	m := b.slab.insert()
	err := m.ParseRest(base, rest)
	if err == nil && (m.Collection <= 0 || m.Partition <= 0 || m.Segment < 0) {
		err = fmt.Errorf("insert into collection %d, partition %d, segment %d: an ID is negative or missing", m.Collection, m.Partition, m.Segment)
	}
	if err != nil {
		return bad(err)
	}
	return Message{Insert: m}
}

func remove(b *batch, r *Record) Message {
	m := b.slab.delete()
	err := m.Parse(r.Value)
	if err == nil && (m.Collection <= 0 || m.Partition <= 0 && m.Partition != -1) {
		err = fmt.Errorf("delete in collection %d, partition %d: an ID is negative or missing", m.Collection, m.Partition)
	}
	if err != nil {
		return bad(err)
	}
	return Message{Delete: m}
}

// once leaves out what a producer sent again. A WAL has no repeats, and there
// what is sent again after a rollback is no repeat.
func (d *Decoder) once(b *batch, m Message, at checkpoints.Position) Message {
	again := false
	switch {
	case m.Insert != nil:
		again = d.window.repeated(m.Insert.Base.MsgID, m.Insert.Shard, int32(commonpb.MsgType_Insert), at, m.Insert.MaxTS)
	case m.Delete != nil:
		again = d.window.repeated(m.Delete.Base.MsgID, m.Delete.Shard, int32(commonpb.MsgType_Delete), at, m.Delete.MaxTS)
	}
	if again {
		b.pack.Counts.Repeated++
		return Message{}
	}
	return m
}

// ddl reads a DDL message. They are rare, so they are unmarshalled whole.
func ddl(kind commonpb.MsgType, value []byte, base wire.Base) (*Event, error) {
	e := &Event{}
	e.Timestamp = base.Timestamp
	switch kind {
	case commonpb.MsgType_CreateCollection:
		return createCollection(e, value)
	case commonpb.MsgType_DropCollection:
		var m msgpb.DropCollectionRequest
		if err := proto.Unmarshal(value, &m); err != nil {
			return nil, fmt.Errorf("drop collection: %w", err)
		}
		e.Kind, e.Collection, e.Name = checkpoints.DropCollection, m.GetCollectionID(), m.GetCollectionName()
	case commonpb.MsgType_CreatePartition:
		var m msgpb.CreatePartitionRequest
		if err := proto.Unmarshal(value, &m); err != nil {
			return nil, fmt.Errorf("create partition: %w", err)
		}
		e.Kind, e.Collection = checkpoints.CreatePartition, m.GetCollectionID()
		e.Partition, e.Name = m.GetPartitionID(), m.GetPartitionName()
	case commonpb.MsgType_DropPartition:
		var m msgpb.DropPartitionRequest
		if err := proto.Unmarshal(value, &m); err != nil {
			return nil, fmt.Errorf("drop partition: %w", err)
		}
		e.Kind, e.Collection = checkpoints.DropPartition, m.GetCollectionID()
		e.Partition, e.Name = m.GetPartitionID(), m.GetPartitionName()
	}
	return e, checkEvent(e)
}

func createCollection(e *Event, value []byte) (*Event, error) {
	var m msgpb.CreateCollectionRequest
	if err := proto.Unmarshal(value, &m); err != nil {
		return nil, fmt.Errorf("create collection: %w", err)
	}
	e.Kind, e.Collection, e.Name = checkpoints.CreateCollection, m.GetCollectionID(), m.GetCollectionName()
	//lint:ignore SA1019 Milvus up to 2.5 fills this field
	e.Schema = m.GetSchema()
	if len(e.Schema) == 0 && m.GetCollectionSchema() != nil {
		schema, err := proto.Marshal(m.GetCollectionSchema())
		if err != nil {
			return nil, fmt.Errorf("create collection: %w", err)
		}
		e.Schema = schema
	}
	e.Partitions = map[int64]string{}
	for i, id := range m.GetPartitionIDs() {
		e.Partitions[id] = ""
		if names := m.GetPartitionNames(); i < len(names) {
			e.Partitions[id] = names[i]
		}
	}
	//lint:ignore SA1019 Milvus up to 2.2 fills this field
	if id := m.GetPartitionID(); id != 0 && len(e.Partitions) == 0 {
		e.Partitions[id] = m.GetPartitionName()
	}
	return e, checkEvent(e)
}

// checkEvent refuses what no Milvus sends.
func checkEvent(e *Event) error {
	partition := e.Kind == checkpoints.CreatePartition || e.Kind == checkpoints.DropPartition
	if e.Collection <= 0 || partition && e.Partition <= 0 {
		return fmt.Errorf("%s of collection %d, partition %d: an ID is not positive", e.Kind, e.Collection, e.Partition)
	}
	if e.Kind == checkpoints.CreateCollection {
		schema, err := column.ParseSchema(e.Schema)
		if err != nil {
			return fmt.Errorf("create collection %d: %w", e.Collection, err)
		}
		if e.Name == "" { // up to 2.3 only the schema has it
			e.Name = schema.Name
		}
	}
	return nil
}
