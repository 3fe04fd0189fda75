package traffic

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/msgpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
)

// collection has a shard in every log.
type collection struct {
	id         int64
	name       string
	schema     *schemapb.CollectionSchema
	key        *schemapb.FieldSchema
	rowBytes   int // of a row on the wire, about
	partitions []*partition
	ints       []int64 // keys that were inserted lately
	texts      []string
}

type partition struct {
	id       int64
	name     string
	segments map[int]*segments // by log
}

// segments are those of one partition in one log.
type segments struct {
	current int64
	rows    int // of the current one
	older   []int64
}

// create makes a collection and announces it in every log. Its name may be
// that of a dropped one, its ID never is.
func (s *Stream) create(name string) *collection {
	schema := schemas[s.made%len(schemas)]
	if name == "" {
		name = fmt.Sprintf("collection_%d", s.made)
	}
	s.made++
	c := &collection{id: s.id(), name: name, schema: schema(name), rowBytes: 40}
	for _, f := range c.schema.GetFields() {
		c.rowBytes += valueBytes(f)
		if f.GetIsPrimaryKey() {
			c.key = f
		}
	}
	for i := range s.cfg.Partitions {
		c.partitions = append(c.partitions, s.newPartition(partitionName(i)))
	}
	ts := s.now()
	m := &msgpb.CreateCollectionRequest{
		Base: &commonpb.MsgBase{MsgType: commonpb.MsgType_CreateCollection, Timestamp: ts},
		//lint:ignore SA1019 Milvus up to 2.5 fills this field
		CollectionID: c.id, Schema: marshal(c.schema), PartitionIDs: []int64{c.partitions[0].id},
	}
	for _, l := range s.logs {
		m.PhysicalChannelNames = append(m.PhysicalChannelNames, l.Topic)
		m.VirtualChannelNames = append(m.VirtualChannelNames, shard(l, c))
	}
	s.announce(message{kind: commonpb.MsgType_CreateCollection, value: marshal(m), ts: ts, collection: c.id})
	return c
}

// announce writes a message into every log.
func (s *Stream) announce(m message) {
	for _, l := range s.logs {
		copied := m
		s.push(l, &copied, false)
	}
}

func (s *Stream) newPartition(name string) *partition {
	return &partition{id: s.id(), name: name, segments: map[int]*segments{}}
}

func partitionName(i int) string {
	if i == 0 {
		return "_default"
	}
	return "part_" + strconv.Itoa(i)
}

func shard(l *channel, c *collection) string {
	return fmt.Sprintf("%s_%dv%d", l.Topic, c.id, l.index)
}

// segment is the one that takes the next rows of a partition in a log.
func (s *Stream) segment(l *channel, p *partition, rows int) int64 {
	g := p.segments[l.index]
	if g == nil {
		g = &segments{current: s.id()}
		p.segments[l.index] = g
	}
	if g.rows > s.cfg.SegmentRows {
		g.older = append(g.older, g.current)
		g.current, g.rows = s.id(), 0
	}
	g.rows += rows
	return g.current
}

// dropPartition drops a partition and makes one of the same name, with another
// ID. Only later Milvus' announce that; in others its first rows do.
func (s *Stream) dropPartition(l *channel, c *collection, p *partition) {
	ts := s.now()
	drop := marshal(&msgpb.DropPartitionRequest{
		Base:         &commonpb.MsgBase{MsgType: commonpb.MsgType_DropPartition, Timestamp: ts, SourceID: 1},
		CollectionID: c.id, CollectionName: c.name, PartitionID: p.id, PartitionName: p.name,
	})
	s.announce(message{kind: commonpb.MsgType_DropPartition, value: drop, ts: ts, collection: c.id, partition: p.id})
	if s.rng.IntN(3) == 0 { // a writer that had not heard of it
		s.write(l, c, p, insert{segment: s.segment(l, p, 0), rows: 1 + s.rng.IntN(5)})
		s.remove(l, c, p)
	}
	next := s.newPartition(p.name)
	c.partitions[slices.Index(c.partitions, p)] = next
	if s.rng.IntN(2) == 0 {
		return
	}
	ts = s.now()
	made := marshal(&msgpb.CreatePartitionRequest{
		Base:         &commonpb.MsgBase{MsgType: commonpb.MsgType_CreatePartition, Timestamp: ts, SourceID: 1},
		CollectionID: c.id, CollectionName: c.name, PartitionID: next.id, PartitionName: next.name,
	})
	s.announce(message{kind: commonpb.MsgType_CreatePartition, value: made, ts: ts, collection: c.id, partition: next.id})
}

// dropCollection drops a collection and makes another one, half of the time
// under the same name.
func (s *Stream) dropCollection(c *collection) {
	ts := s.now()
	drop := marshal(&msgpb.DropCollectionRequest{
		Base:         &commonpb.MsgBase{MsgType: commonpb.MsgType_DropCollection, Timestamp: ts, SourceID: 1},
		CollectionID: c.id, CollectionName: c.name,
	})
	s.announce(message{kind: commonpb.MsgType_DropCollection, value: drop, ts: ts, collection: c.id})
	name := ""
	if s.rng.IntN(2) == 0 {
		name = c.name
	}
	at := slices.Index(s.collections, c)
	s.collections[at] = s.create(name)
}
