package traffic

import (
	"slices"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/msgpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/proto"
)

// insert is what one insert message says besides its place.
type insert struct {
	segment int64
	rows    int
	keys    *schemapb.IDs // of the rows; nil: new ones
	ts      uint64        // of an upsert; 0: a new one
}

// rows draws the size of an insert: mostly a few rows, seldom up to the
// largest record.
func (s *Stream) rows(c *collection) int {
	most := max(1, s.cfg.MaxRecord/c.rowBytes)
	switch n := s.rng.IntN(100); {
	case n < 20:
		return 1
	case n < 90:
		return 1 + s.rng.IntN(min(40, most))
	case n < 99:
		return 1 + s.rng.IntN(min(400, most))
	}
	return most
}

func (s *Stream) insert(l *channel, c *collection, p *partition) {
	rows := s.rows(c)
	s.write(l, c, p, insert{segment: s.segment(l, p, rows), rows: rows})
}

// late writes rows for a segment that its partition has left behind.
func (s *Stream) late(l *channel, c *collection, p *partition) {
	g := p.segments[l.index]
	if g == nil || len(g.older) == 0 {
		s.insert(l, c, p)
		return
	}
	s.write(l, c, p, insert{segment: g.older[s.rng.IntN(len(g.older))], rows: 1 + s.rng.IntN(20)})
}

// upsert is an insert, then a delete of the same keys with the same
// timestamp; base.timestamp of the insert is 0, as in Milvus.
func (s *Stream) upsert(l *channel, c *collection, p *partition) {
	keys := s.known(c, 1+s.rng.IntN(20))
	rows := keyCount(keys)
	if rows == 0 {
		s.insert(l, c, p)
		return
	}
	ts := s.now()
	s.write(l, c, p, insert{segment: s.segment(l, p, rows), rows: rows, keys: keys, ts: ts})
	s.writeDelete(l, c, p.id, p.name, keys, ts)
}

// delete removes keys in one partition or in all.
func (s *Stream) delete(l *channel, c *collection, p *partition) {
	keys := s.known(c, 1+s.rng.IntN(30))
	if keyCount(keys) == 0 {
		s.insert(l, c, p)
	} else if s.rng.IntN(2) == 0 {
		s.writeDelete(l, c, -1, "", keys, s.now())
	} else {
		s.writeDelete(l, c, p.id, p.name, keys, s.now())
	}
}

// remove deletes in a given partition.
func (s *Stream) remove(l *channel, c *collection, p *partition) {
	if keys := s.known(c, 3); keyCount(keys) > 0 {
		s.writeDelete(l, c, p.id, p.name, keys, s.now())
	}
}

func (s *Stream) tick(l *channel) {
	at := s.tickAt(l)
	value := marshal(&msgpb.TimeTickMsg{Base: &commonpb.MsgBase{MsgType: commonpb.MsgType_TimeTick, Timestamp: at, SourceID: 1}})
	s.push(l, &message{kind: commonpb.MsgType_TimeTick, value: value, ts: at}, false)
}

// write queues an insert.
func (s *Stream) write(l *channel, c *collection, p *partition, in insert) {
	m, ts := s.request(l, c, p, in)
	s.push(l, &message{
		kind: commonpb.MsgType_Insert, value: marshal(m), ts: ts, collection: c.id, partition: p.id, rows: int64(in.rows),
	}, in.ts == 0)
}

// request is the message of an insert. Row IDs come before the message's own
// ID, and all rows have one timestamp, as in Milvus.
func (s *Stream) request(l *channel, c *collection, p *partition, in insert) (*msgpb.InsertRequest, uint64) {
	ts, base := in.ts, uint64(0)
	if ts == 0 {
		ts = s.now()
		base = ts
	}
	m := &msgpb.InsertRequest{
		ShardName: shard(l, c), CollectionName: c.name, PartitionName: p.name,
		CollectionID: c.id, PartitionID: p.id, SegmentID: in.segment,
		NumRows: uint64(in.rows), Version: msgpb.InsertDataVersion_ColumnBased,
		Timestamps: slices.Repeat([]uint64{ts}, in.rows),
	}
	for range in.rows {
		m.RowIDs = append(m.RowIDs, s.id())
	}
	m.Base = &commonpb.MsgBase{MsgType: commonpb.MsgType_Insert, MsgID: s.id(), Timestamp: base, SourceID: 1}
	keys := in.keys
	if keys == nil {
		keys = s.newKeys(c, in.rows)
	}
	m.FieldsData = s.fieldsData(c, in.rows, keys)
	return m, ts
}

func (s *Stream) writeDelete(l *channel, c *collection, partition int64, name string, keys *schemapb.IDs, ts uint64) {
	rows := keyCount(keys)
	value := marshal(&msgpb.DeleteRequest{
		Base:      &commonpb.MsgBase{MsgType: commonpb.MsgType_Delete, MsgID: s.id(), Timestamp: ts, SourceID: 1},
		ShardName: shard(l, c), CollectionName: c.name, PartitionName: name, CollectionID: c.id, PartitionID: partition,
		Timestamps: slices.Repeat([]uint64{ts}, rows), NumRows: int64(rows), PrimaryKeys: keys,
	})
	s.push(l, &message{
		kind: commonpb.MsgType_Delete, value: value, ts: ts, collection: c.id, partition: partition, rows: int64(rows),
	}, false)
}

// marshal serializes a message of our own making, which cannot fail: its
// texts are ASCII and its fields set.
func marshal(m proto.Message) []byte {
	b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	return b
}
