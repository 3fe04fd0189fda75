package wire_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/msgpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"flowgraph/internal/recording"
	"flowgraph/stages/wire"
)

// real is every value that a real Milvus sent in the recordings and the
// golden files.
func real(t testing.TB) map[string][][]byte {
	values := map[string][][]byte{}
	files, _ := filepath.Glob("../../testdata/golden/kafka-msgstream-2.5/*.bin")
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		values["golden"] = append(values["golden"], b)
	}
	recordings, _ := filepath.Glob("../../testdata/recordings/*/records.jsonl.gz")
	if len(files) != 10 || len(recordings) != 5 {
		t.Fatalf("%d golden files, %d recordings", len(files), len(recordings))
	}
	for _, f := range recordings {
		r, err := recording.Open(f)
		if err != nil {
			t.Fatal(err)
		}
		for record, err := range r.All() {
			if err != nil {
				t.Fatal(err)
			}
			values[filepath.Base(filepath.Dir(f))] = append(values[filepath.Base(filepath.Dir(f))], record.Value)
		}
		r.Close()
	}
	return values
}

// compare walks a value and unmarshals it, and says what differs.
func compare(value []byte) (commonpb.MsgType, []string) {
	base, err := wire.ParseBase(value)
	var header commonpb.MsgHeader
	if e := proto.Unmarshal(value, &header); err != nil || e != nil {
		return 0, []string{errors.Join(err, e).Error()}
	}
	var d differences
	kind := commonpb.MsgType(base.Type)
	switch kind {
	case commonpb.MsgType_Insert:
		var got wire.Insert
		var want msgpb.InsertRequest
		err := got.Parse(value)
		if e := proto.Unmarshal(value, &want); err != nil || e != nil {
			return kind, []string{errors.Join(err, e).Error()}
		}
		d.insert(&got, &want)
	case commonpb.MsgType_Delete:
		var got wire.Delete
		var want msgpb.DeleteRequest
		err := got.Parse(value)
		if e := proto.Unmarshal(value, &want); err != nil || e != nil {
			return kind, []string{errors.Join(err, e).Error()}
		}
		d.delete(&got, &want)
	default:
		d.base(base, header.GetBase())
	}
	return kind, d.found
}

func TestTheWalkReadsWhatMilvusSent(t *testing.T) {
	for name, values := range real(t) {
		n := map[commonpb.MsgType]int{}
		for i, v := range values {
			kind, found := compare(v)
			n[kind]++
			if len(found) > 0 {
				t.Fatalf("%s, message %d, %s: %s", name, i, kind, strings.Join(found, "; "))
			}
		}
		if n[commonpb.MsgType_Insert] == 0 || n[commonpb.MsgType_Delete] == 0 || n[commonpb.MsgType_TimeTick] == 0 {
			t.Errorf("%s: %v", name, n)
		}
	}
}

// A row lost between two pieces of a repeated field is lost silently: the
// message's own count is checked, but pieces may go missing alike.
func TestEverySpellingOfAMessageIsReadAlike(t *testing.T) {
	var messages []proto.Message
	for name, values := range real(t) {
		for i, v := range values {
			if name == "concurrent" && i%100 != 0 {
				continue
			}
			base, _ := wire.ParseBase(v)
			var m proto.Message
			switch commonpb.MsgType(base.Type) {
			case commonpb.MsgType_Insert:
				m = &msgpb.InsertRequest{}
			case commonpb.MsgType_Delete:
				m = &msgpb.DeleteRequest{}
			default:
				continue
			}
			if err := proto.Unmarshal(v, m); err != nil {
				t.Fatal(err)
			}
			messages = append(messages, m)
		}
	}
	messages = append(messages, rare()...)
	for _, s := range spellings {
		for i, m := range messages {
			value := s.marshal(m.ProtoReflect())
			again := m.ProtoReflect().New().Interface()
			if err := proto.Unmarshal(value, again); err != nil {
				t.Fatal(err)
			}
			if _, found := compare(value); len(found) > 0 {
				t.Fatalf("message %d, %s: %s", i, s.name, strings.Join(found, "; "))
			}
		}
	}
}

func base(kind commonpb.MsgType) *commonpb.MsgBase {
	return &commonpb.MsgBase{MsgType: kind, MsgID: 7, Timestamp: 8, SourceID: 9}
}

// rare is what the recordings do not hold.
func rare() []proto.Message {
	scalar := func(id int64, s *schemapb.ScalarField) *schemapb.FieldData {
		return &schemapb.FieldData{FieldId: id, FieldName: "f", Type: 3, Field: &schemapb.FieldData_Scalars{Scalars: s}, ValidData: []bool{true, false, true}}
	}
	vector := func(id int64, v *schemapb.VectorField) *schemapb.FieldData {
		v.Dim = 4
		return &schemapb.FieldData{FieldId: id, Type: 100, Field: &schemapb.FieldData_Vectors{Vectors: v}}
	}
	insert := &msgpb.InsertRequest{
		Base: base(commonpb.MsgType_Insert), NumRows: 3, RowIDs: []int64{-1, 0, 1 << 62}, Timestamps: []uint64{5, 1 << 63, 3}, CollectionID: 1, PartitionID: -1,
		FieldsData: []*schemapb.FieldData{
			scalar(100, &schemapb.ScalarField{Data: &schemapb.ScalarField_BytesData{BytesData: &schemapb.BytesArray{Data: [][]byte{{1}, {}, nil}}}}),
			scalar(101, &schemapb.ScalarField{Data: &schemapb.ScalarField_GeometryData{GeometryData: &schemapb.GeometryArray{Data: [][]byte{{1, 2}, {}, {3}}}}}),
			scalar(102, &schemapb.ScalarField{Data: &schemapb.ScalarField_GeometryWktData{GeometryWktData: &schemapb.GeometryWktArray{Data: []string{"POINT (1 2)", ""}}}}),
			scalar(103, &schemapb.ScalarField{Data: &schemapb.ScalarField_TimestamptzData{TimestamptzData: &schemapb.TimestamptzArray{Data: []int64{-1, 0, 5}}}}),
			scalar(104, &schemapb.ScalarField{}),
			vector(105, &schemapb.VectorField{Data: &schemapb.VectorField_Float16Vector{Float16Vector: []byte("12345678")}}),
			vector(106, &schemapb.VectorField{Data: &schemapb.VectorField_Bfloat16Vector{Bfloat16Vector: []byte("12345678")}}),
			vector(107, &schemapb.VectorField{Data: &schemapb.VectorField_Int8Vector{Int8Vector: []byte("1234")}}),
			vector(108, &schemapb.VectorField{Data: &schemapb.VectorField_SparseFloatVector{SparseFloatVector: &schemapb.SparseFloatArray{Dim: 9, Contents: [][]byte{[]byte("12345678"), {}}}}}),
			vector(109, &schemapb.VectorField{Data: &schemapb.VectorField_VectorArray{VectorArray: &schemapb.VectorArray{Dim: 4}}}),
			{FieldId: 110, Field: &schemapb.FieldData_StructArrays{StructArrays: &schemapb.StructArrayField{}}},
		},
	}
	rowBased := &msgpb.InsertRequest{Base: base(commonpb.MsgType_Insert), RowData: []*commonpb.Blob{{Value: []byte("row")}}}
	old := &msgpb.DeleteRequest{Base: base(commonpb.MsgType_Delete), NumRows: 3, Int64PrimaryKeys: []int64{3, -4, 5}, Timestamps: []uint64{1, 2, 3}, PartitionID: -1}
	text := &msgpb.DeleteRequest{Base: base(commonpb.MsgType_Delete), NumRows: 2, Int64PrimaryKeys: []int64{3},
		PrimaryKeys: &schemapb.IDs{IdField: &schemapb.IDs_StrId{StrId: &schemapb.StringArray{Data: []string{"", "b"}}}}}
	both := &msgpb.DeleteRequest{Base: base(commonpb.MsgType_Delete), NumRows: 1, Int64PrimaryKeys: []int64{3},
		PrimaryKeys: &schemapb.IDs{IdField: &schemapb.IDs_IntId{IntId: &schemapb.LongArray{Data: []int64{9, 10}}}}}
	return []proto.Message{insert, rowBased, old, text, both}
}

// Of the members of a oneof only the last one counts.
func TestARecordThatCannotBeReadIsToldInTheWordsOfALibrary(t *testing.T) {
	for want, value := range map[string][]byte{"invalid field number": {0, 1, 2}, "it is cut short": {0x0a, 9, 1}} {
		_, err := wire.ParseBase(value)
		if !errors.Is(err, wire.ErrMalformed) || !strings.HasSuffix(err.Error(), ": "+want) || strings.Contains(err.Error(), "proto") {
			t.Errorf("%x: %v", value, err)
		}
	}
}

func TestOnlyTheLastMemberOfAOneofCounts(t *testing.T) {
	field := func(num protowire.Number, body ...[]byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), bytes.Join(body, nil))
	}
	long, text := field(3, field(1, []byte{5})), field(6, field(1, []byte("a")))
	ids, names := field(1, field(1, []byte{5})), field(2, field(1, []byte("a")))
	head := field(1, []byte{8, 0x90, 3}) // an insert
	for name, value := range map[string][]byte{
		"scalars":          bytes.Join([][]byte{head, field(13, field(3, long, text))}, nil),
		"scalars again":    bytes.Join([][]byte{head, field(13, field(3, text), field(3, long), field(3, long))}, nil),
		"vectors":          bytes.Join([][]byte{head, field(13, field(3, long), field(4, field(3, []byte("x")), field(3, []byte("y"))))}, nil),
		"arrays of struct": bytes.Join([][]byte{head, field(13, field(3, long), field(8))}, nil),
		"numbers":          bytes.Join([][]byte{field(1, []byte{8, 0x91, 3}), field(12, names, ids)}, nil),
		"texts":            bytes.Join([][]byte{field(1, []byte{8, 0x91, 3}), field(12, ids), field(12, names)}, nil),
	} {
		if kind, found := compare(value); kind != commonpb.MsgType_Insert && kind != commonpb.MsgType_Delete || len(found) > 0 {
			t.Errorf("%s, %s: %s", name, kind, strings.Join(found, "; "))
		}
	}
}

// A record is read in time and memory in proportion to its size, whatever its
// sender chose to write.
func TestNoRecordTakesMuchMoreThanItsSize(t *testing.T) {
	columns := bytes.Repeat([]byte{13<<3 | 2, 0}, 1<<20)
	var m wire.Insert
	if err := m.Parse(columns); err != nil {
		t.Errorf("a million columns: %v", err)
	}
	if read, err := m.Columns(nil); !errors.Is(err, wire.ErrMalformed) || cap(read) > 1<<14 {
		t.Errorf("a million columns: %v, room for %d", err, cap(read))
	}
	times := bytes.Repeat([]byte{10 << 3, 1}, 1<<20)
	if allocations := testing.AllocsPerRun(1, func() { m.Parse(times) }); allocations > 100 {
		t.Errorf("a million numbers one by one: %.0f allocations", allocations)
	}
	if len(m.Timestamps) != 1<<20 || cap(m.Timestamps) > 1<<22 {
		t.Errorf("%d of a million numbers, room for %d", len(m.Timestamps), cap(m.Timestamps))
	}
}

// Whoever appends to a view must not write into the record.
func TestPiecesAreNotJoinedInTheRecord(t *testing.T) {
	for _, s := range spellings {
		for _, m := range rare() {
			value := s.marshal(m.ProtoReflect())
			before := bytes.Clone(value)
			compare(value)
			if !bytes.Equal(before, value) {
				t.Fatalf("%s: the record has changed", s.name)
			}
		}
	}
}

func FuzzTheWalk(f *testing.F) {
	for _, m := range rare() {
		f.Add(spellings[4].marshal(m.ProtoReflect()))
	}
	f.Add([]byte{})
	f.Add([]byte{1<<3 | 2, 2, 8, 0x80})
	f.Fuzz(func(t *testing.T, value []byte) {
		var insert wire.Insert
		var columns []wire.Field
		err := insert.Parse(value)
		if err == nil {
			columns, err = insert.Columns(nil)
		}
		if cap(columns) > 2*len(value)+8 || cap(insert.Timestamps)+cap(insert.RowIDs) > 4*len(value)+64 {
			t.Fatalf("%d bytes: room for %d columns, %d bytes of numbers", len(value), cap(columns), cap(insert.Timestamps)+cap(insert.RowIDs))
		}
		var wantInsert msgpb.InsertRequest
		if proto.Unmarshal(value, &wantInsert) == nil && len(wantInsert.GetFieldsData()) < 4096 && !holdsArrays(&wantInsert) {
			var d differences
			if d.insert(&insert, &wantInsert); err != nil || len(d.found) > 0 {
				t.Errorf("insert: %v; %s", err, strings.Join(d.found, "; "))
			}
		}
		var del wire.Delete
		err = del.Parse(value)
		var wantDelete msgpb.DeleteRequest
		if proto.Unmarshal(value, &wantDelete) == nil {
			var d differences
			if d.delete(&del, &wantDelete); err != nil || len(d.found) > 0 {
				t.Errorf("delete: %v; %s", err, strings.Join(d.found, "; "))
			}
		}
	})
}

// holdsArrays: their rows are kept byte for byte, so another spelling of the
// same row is rightly another value.
func holdsArrays(m *msgpb.InsertRequest) bool {
	for _, f := range m.GetFieldsData() {
		if f.GetScalars().GetArrayData() != nil {
			return true
		}
	}
	return false
}
