package channelinfo

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
)

// Of makes one VchannelInfo for each collection of the vchannel, by ID.
//
// Its positions are ours: an offset is the next one to read, as 8 bytes
// little-endian, a timestamp that of the last time tick before it. Segments
// that are open have a SegmentInfo, and an ID as all others: closed ones are
// too many for more. L0 segments that are not dropped stand in their own list
// alone. The delete checkpoint is the smallest start of those, where reading
// must begin for their deletes, else the seek position.
func Of(ctx context.Context, a *archive.Archive, v *archive.VChannel) ([]proto.Message, error) {
	if v.Err != nil {
		return nil, v.Err
	}
	file, err := descriptors()
	if err != nil {
		return nil, fmt.Errorf("describe messages: %w", err)
	}
	segments := map[int64][]*archive.Segment{} // by collection
	for s, err := range a.Segments(ctx) {
		if err != nil {
			return nil, err
		}
		if s.VChannel == v.Name {
			segments[s.Collection] = append(segments[s.Collection], s)
		}
	}
	m := maker{file.Messages()}
	var out []proto.Message
	for _, c := range v.Collections(a) {
		out = append(out, m.channel(v, c, segments[c.ID]))
	}
	return out, nil
}

// maker makes messages of what Milvus calls them.
type maker struct {
	types protoreflect.MessageDescriptors
}

func (m maker) channel(v *archive.VChannel, c archive.Collection, segments []*archive.Segment) proto.Message {
	name := cmp.Or(c.Channel, v.Name)
	info := m.new("VchannelInfo")
	info.number("collectionID", c.ID)
	info.text("channelName", name)
	info.message("seek_position", m.position(name, v.Doc.Seek))
	deletes := v.Doc.Seek
	slices.SortFunc(segments, func(x, y *archive.Segment) int { return cmp.Compare(x.ID, y.ID) })
	for _, s := range segments {
		switch {
		case s.State == checkpoints.Dropped:
			info.add("dropped_segmentIds", protoreflect.ValueOfInt64(s.ID))
		case s.Level == checkpoints.L0:
			info.add("level_zero_segment_ids", protoreflect.ValueOfInt64(s.ID))
			deletes = deletes.Earlier(s.Start)
		case s.State == checkpoints.Flushed:
			info.add("flushedSegmentIds", protoreflect.ValueOfInt64(s.ID))
		default:
			info.add("unflushedSegmentIds", protoreflect.ValueOfInt64(s.ID))
			info.add("unflushedSegments", protoreflect.ValueOfMessage(m.segment(name, s).ProtoReflect()))
		}
	}
	info.message("delete_checkpoint", m.position(name, deletes))
	return info
}

// segment is an open segment. One of which nothing is persisted has no
// dml_position.
func (m maker) segment(channel string, s *archive.Segment) record {
	info := m.new("SegmentInfo")
	info.number("ID", s.ID)
	info.number("collectionID", s.Collection)
	info.number("partitionID", s.Partition)
	info.text("insert_channel", channel)
	info.number("num_of_rows", s.Rows)
	info.set("state", protoreflect.ValueOfEnum(growing))
	info.message("start_position", m.position(channel, s.Start))
	if s.State != checkpoints.New {
		info.message("dml_position", m.position(channel, s.End))
	}
	info.set("level", protoreflect.ValueOfEnum(level1))
	return info
}

func (m maker) position(channel string, p checkpoints.Position) record {
	pos := m.new("MsgPosition")
	pos.text("channel_name", channel)
	pos.set("msgID", protoreflect.ValueOfBytes(binary.LittleEndian.AppendUint64(nil, uint64(p.Offset))))
	pos.set("timestamp", protoreflect.ValueOfUint64(p.Tick))
	return pos
}

func (m maker) new(name protoreflect.Name) record {
	return record{dynamicpb.NewMessage(m.types.ByName(name))}
}

// record is a message that is filled by its fields' names.
type record struct{ *dynamicpb.Message }

func (r record) field(name protoreflect.Name) protoreflect.FieldDescriptor {
	return r.Descriptor().Fields().ByName(name)
}

func (r record) set(name protoreflect.Name, v protoreflect.Value) { r.Set(r.field(name), v) }

func (r record) number(name protoreflect.Name, v int64) { r.set(name, protoreflect.ValueOfInt64(v)) }

func (r record) text(name protoreflect.Name, v string) { r.set(name, protoreflect.ValueOfString(v)) }

func (r record) message(name protoreflect.Name, v record) {
	r.set(name, protoreflect.ValueOfMessage(v.ProtoReflect()))
}

func (r record) add(name protoreflect.Name, v protoreflect.Value) {
	r.Mutable(r.field(name)).List().Append(v)
}
