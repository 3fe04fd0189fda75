// Package channelinfo gives the picture of a vchannel in the messages that
// Milvus' own tools read: VchannelInfo, SegmentInfo and MsgPosition, with the
// field numbers of Milvus under a package name of our own, so that a program
// that links Milvus' messages too does not meet two of one name.
package channelinfo

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// The kinds of field that the messages have.
const (
	number   = descriptorpb.FieldDescriptorProto_TYPE_INT64
	unsigned = descriptorpb.FieldDescriptorProto_TYPE_UINT64
	text     = descriptorpb.FieldDescriptorProto_TYPE_STRING
	raw      = descriptorpb.FieldDescriptorProto_TYPE_BYTES
	message  = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	enum     = descriptorpb.FieldDescriptorProto_TYPE_ENUM
)

// field is one field: its name and number as in Milvus.
type field struct {
	name     string
	number   int32
	kind     descriptorpb.FieldDescriptorProto_Type
	repeated bool
	of       string // message or enum
}

const protoPackage = "flowgraph.channelinfo"

// descriptors describes the three messages, with the fields that are filled.
func descriptors() (protoreflect.FileDescriptor, error) {
	return protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("flowgraph/channelinfo.proto"), Package: proto.String(protoPackage), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{
			describe("MsgPosition", []field{
				{name: "channel_name", number: 1, kind: text},
				{name: "msgID", number: 2, kind: raw},
				{name: "msgGroup", number: 3, kind: text},
				{name: "timestamp", number: 4, kind: unsigned},
			}),
			describe("SegmentInfo", []field{
				{name: "ID", number: 1, kind: number},
				{name: "collectionID", number: 2, kind: number},
				{name: "partitionID", number: 3, kind: number},
				{name: "insert_channel", number: 4, kind: text},
				{name: "num_of_rows", number: 5, kind: number},
				{name: "state", number: 6, kind: enum, of: "SegmentState"},
				{name: "start_position", number: 9, kind: message, of: "MsgPosition"},
				{name: "dml_position", number: 10, kind: message, of: "MsgPosition"},
				{name: "level", number: 20, kind: enum, of: "SegmentLevel"},
			}),
			describe("VchannelInfo", []field{
				{name: "collectionID", number: 1, kind: number},
				{name: "channelName", number: 2, kind: text},
				{name: "seek_position", number: 3, kind: message, of: "MsgPosition"},
				{name: "unflushedSegments", number: 4, kind: message, repeated: true, of: "SegmentInfo"},
				{name: "unflushedSegmentIds", number: 7, kind: number, repeated: true},
				{name: "flushedSegmentIds", number: 8, kind: number, repeated: true},
				{name: "dropped_segmentIds", number: 9, kind: number, repeated: true},
				{name: "level_zero_segment_ids", number: 12, kind: number, repeated: true},
				{name: "delete_checkpoint", number: 14, kind: message, of: "MsgPosition"},
			}),
		},
		EnumType: []*descriptorpb.EnumDescriptorProto{
			enumOf("SegmentState", "SegmentStateNone", "NotExist", "Growing", "Sealed", "Flushed", "Flushing", "Dropped", "Importing"),
			enumOf("SegmentLevel", "Legacy", "L0", "L1", "L2"),
		},
	}, nil)
}

// The states and levels that are used.
const (
	growing protoreflect.EnumNumber = 2
	level1  protoreflect.EnumNumber = 2
)

func describe(name string, fields []field) *descriptorpb.DescriptorProto {
	out := &descriptorpb.DescriptorProto{Name: proto.String(name)}
	for _, f := range fields {
		label := descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL
		if f.repeated {
			label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED
		}
		d := &descriptorpb.FieldDescriptorProto{Name: proto.String(f.name), Number: proto.Int32(f.number), Label: &label, Type: &f.kind}
		if f.of != "" {
			d.TypeName = proto.String(fmt.Sprintf(".%s.%s", protoPackage, f.of))
		}
		out.Field = append(out.Field, d)
	}
	return out
}

// enumOf numbers the values from 0.
func enumOf(name string, values ...string) *descriptorpb.EnumDescriptorProto {
	out := &descriptorpb.EnumDescriptorProto{Name: proto.String(name)}
	for i, v := range values {
		out.Value = append(out.Value, &descriptorpb.EnumValueDescriptorProto{Name: proto.String(v), Number: proto.Int32(int32(i))})
	}
	return out
}
