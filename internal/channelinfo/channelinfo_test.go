package channelinfo_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/msgpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/channelinfo"
	"flowgraph/internal/membucket"
)

func at(offset int64, tick uint64) checkpoints.Position {
	return checkpoints.Position{Offset: offset, Tick: tick}
}

// bucket holds a vchannel of two collections: 7 with segments of every kind,
// one of them in a manifest, and 8 without any.
func bucket(t *testing.T) *membucket.Bucket {
	t.Helper()
	seg := func(id int64, level checkpoints.Level, state checkpoints.State, start, end checkpoints.Position, rows int64) *checkpoints.Segment {
		s := &checkpoints.Segment{ID: id, Collection: 7, Partition: 70, Level: level, State: state, Start: start, End: end, Rows: rows}
		if rows > 0 {
			s.Bytes = 1
			s.Logs = []checkpoints.Log{{ID: "100000010000000001", Rows: rows, Bytes: 1, MinTS: 1, MaxTS: 2}}
		}
		if level == checkpoints.L1 {
			s.Fields = []int64{0, 1, 100}
		} else {
			s.Auto = true
		}
		return s
	}
	none := checkpoints.Position{}
	doc := &checkpoints.Document{
		Version: checkpoints.Version, VChannel: "dml_3-0", Topic: "dml_3", TopicID: "T", Epoch: 1, Owner: "o", Sequence: 1,
		ReadFrom: at(50, 1<<60), Seek: at(0x0102030405, 1<<60),
		Collections: map[int64]*checkpoints.Collection{
			7: {Channel: "by-dev-rootcoord-dml_3_7v0", LastDDL: 1, SchemaOffset: -1, Partitions: map[int64]*checkpoints.Partition{70: {AutoEndDelete: 31}, 71: {Dropped: &checkpoints.Drop{Offset: 40, Timestamp: 9}}}},
			8: {LastDDL: 2, SchemaOffset: -1, Partitions: map[int64]*checkpoints.Partition{}},
		},
		Segments: map[int64]*checkpoints.Segment{},
	}
	for _, s := range []*checkpoints.Segment{
		seg(1, checkpoints.L1, checkpoints.New, at(60, 61), none, 0),
		seg(2, checkpoints.L1, checkpoints.Normal, at(20, 21), at(30, 31), 5),
		seg(3, checkpoints.L1, checkpoints.Flushed, at(10, 11), at(20, 21), 5),
		seg(1<<62+1, checkpoints.L0, checkpoints.Normal, at(12, 13), at(31, 32), 5),
	} {
		doc.Segments[s.ID] = s
	}
	m := membucket.New()
	put := func(key string, data []byte, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Put(t.Context(), key, checkpoints.Object{Parts: [][]byte{data}}, checkpoints.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	data, err := doc.Encode()
	put(checkpoints.DocumentKey(doc.VChannel), data, err)
	for _, s := range []*checkpoints.Segment{
		seg(4, checkpoints.L1, checkpoints.Flushed, at(5, 6), at(9, 10), 5),
		{ID: 5, Collection: 7, Partition: 71, Level: checkpoints.L1, State: checkpoints.Flushed, Start: at(2, 3), End: at(9, 10), Fields: []int64{0, 1, 100}},
	} {
		data, err := checkpoints.NewManifest(doc, s).Encode()
		put(s.ManifestKey(), data, err)
	}
	return m
}

func infos(t *testing.T) []proto.Message {
	t.Helper()
	a, err := archive.Open(t.Context(), bucket(t))
	if err != nil {
		t.Fatal(err)
	}
	list, err := channelinfo.Of(t.Context(), a, a.VChannel("dml_3-0"))
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 {
		t.Fatalf("%d messages for two collections", len(list))
	}
	return list
}

// fields are a message's by number: numbers as they are, bytes, and packed
// numbers as bytes.
func fields(t *testing.T, data []byte) (numbers map[protowire.Number]uint64, blobs map[protowire.Number][][]byte) {
	t.Helper()
	numbers, blobs = map[protowire.Number]uint64{}, map[protowire.Number][][]byte{}
	for len(data) > 0 {
		num, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		data = data[n:]
		switch kind {
		case protowire.VarintType:
			numbers[num], n = protowire.ConsumeVarint(data)
		case protowire.BytesType:
			var v []byte
			v, n = protowire.ConsumeBytes(data)
			blobs[num] = append(blobs[num], v)
		default:
			t.Fatalf("field %d is of wire type %d", num, kind)
		}
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		data = data[n:]
	}
	return numbers, blobs
}

func packed(t *testing.T, blobs [][]byte) (out []int64) {
	t.Helper()
	for _, b := range blobs {
		for len(b) > 0 {
			v, n := protowire.ConsumeVarint(b)
			if n < 0 {
				t.Fatal(protowire.ParseError(n))
			}
			out, b = append(out, int64(v)), b[n:]
		}
	}
	return out
}

func isPosition(t *testing.T, channel, what string, blobs [][]byte, want checkpoints.Position) {
	t.Helper()
	if len(blobs) != 1 {
		t.Errorf("%s is there %d times", what, len(blobs))
		return
	}
	var p msgpb.MsgPosition
	if err := proto.Unmarshal(blobs[0], &p); err != nil {
		t.Fatal(err)
	}
	if p.GetChannelName() != channel || len(p.GetMsgID()) != 8 || binary.LittleEndian.Uint64(p.GetMsgID()) != uint64(want.Offset) || p.GetTimestamp() != want.Tick {
		t.Errorf("%s is %v, want %+v", what, &p, want)
	}
	if len(p.ProtoReflect().GetUnknown()) > 0 {
		t.Errorf("%s has fields that Milvus does not know", what)
	}
}

func TestMilvusReadsTheChannelByItsOwnNumbers(t *testing.T) {
	var out bytes.Buffer
	if err := channelinfo.WriteBinary(&out, infos(t)[:1]); err != nil {
		t.Fatal(err)
	}
	numbers, blobs := fields(t, out.Bytes())
	if numbers[1] != 7 || string(blobs[2][0]) != "by-dev-rootcoord-dml_3_7v0" {
		t.Errorf("collection %d of channel %s", numbers[1], blobs[2])
	}
	isPosition(t, "by-dev-rootcoord-dml_3_7v0", "seek_position", blobs[3], at(0x0102030405, 1<<60))
	isPosition(t, "by-dev-rootcoord-dml_3_7v0", "delete_checkpoint", blobs[14], at(12, 13))
	for num, want := range map[protowire.Number][]int64{7: {1, 2}, 8: {3, 4}, 9: {5}, 12: {1<<62 + 1}} {
		if got := packed(t, blobs[num]); !slices.Equal(got, want) {
			t.Errorf("field %d: segments %v, want %v", num, got, want)
		}
	}
	if len(blobs[4]) != 2 {
		t.Fatalf("%d open segments", len(blobs[4]))
	}
	numbers, open := fields(t, blobs[4][1])
	for num, want := range map[protowire.Number]uint64{1: 2, 2: 7, 3: 70, 5: 5, 6: 2, 20: 2} {
		if numbers[num] != want {
			t.Errorf("segment field %d is %d, want %d", num, numbers[num], want)
		}
	}
	if string(open[4][0]) != "by-dev-rootcoord-dml_3_7v0" {
		t.Errorf("insert channel %s", open[4])
	}
	isPosition(t, "by-dev-rootcoord-dml_3_7v0", "start_position", open[9], at(20, 21))
	isPosition(t, "by-dev-rootcoord-dml_3_7v0", "dml_position", open[10], at(30, 31))
	if _, fresh := fields(t, blobs[4][0]); len(fresh[10]) != 0 {
		t.Error("a segment of which nothing is persisted has a dml_position")
	}
}

func TestSeveralMessagesAreDelimited(t *testing.T) {
	var out bytes.Buffer
	if err := channelinfo.WriteBinary(&out, infos(t)); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(&out)
	for _, collection := range []uint64{7, 8} {
		n, err := binary.ReadUvarint(r)
		if err != nil {
			t.Fatal(err)
		}
		data := make([]byte, n)
		if _, err := r.Read(data); err != nil {
			t.Fatal(err)
		}
		numbers, blobs := fields(t, data)
		if numbers[1] != collection {
			t.Errorf("collection %d, want %d", numbers[1], collection)
		}
		if collection == 8 { // no L0 segment holds deletes back
			isPosition(t, "dml_3-0", "delete_checkpoint", blobs[14], at(0x0102030405, 1<<60))
		}
	}
	if r.Buffered() > 0 {
		t.Errorf("%d bytes are left", r.Buffered())
	}
}

func TestJSONHasMilvusNames(t *testing.T) {
	var out bytes.Buffer
	if err := channelinfo.WriteJSON(&out, infos(t)); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines", len(lines))
	}
	type position struct {
		MsgID     []byte `json:"msgID"`
		Timestamp uint64 `json:"timestamp,string"`
	}
	var got struct {
		CollectionID        int64    `json:"collectionID,string"`
		ChannelName         string   `json:"channelName"`
		Seek                position `json:"seek_position"`
		UnflushedSegmentIds []string `json:"unflushedSegmentIds"`
		L0                  []string `json:"level_zero_segment_ids"`
		UnflushedSegments   []struct {
			ID    string `json:"ID"`
			State string `json:"state"`
			Level string `json:"level"`
		} `json:"unflushedSegments"`
	}
	if err := json.Unmarshal([]byte(lines[0]), &got); err != nil {
		t.Fatal(err)
	}
	if got.CollectionID != 7 || got.ChannelName != "by-dev-rootcoord-dml_3_7v0" || !strings.Contains(lines[1], `"dml_3-0"`) || !slices.Equal(got.UnflushedSegmentIds, []string{"1", "2"}) || got.Seek.Timestamp != 1<<60 ||
		!bytes.Equal(got.Seek.MsgID, []byte{5, 4, 3, 2, 1, 0, 0, 0}) || got.UnflushedSegments[1].State != "Growing" || got.UnflushedSegments[1].Level != "L1" ||
		!slices.Equal(got.L0, []string{"4611686018427387905"}) {
		t.Errorf("%s", lines[0])
	}
}
