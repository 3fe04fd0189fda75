package archive_test

import (
	"encoding/binary"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/proto"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
	"flowgraph/internal/membucket"
	"flowgraph/sinks/binlog"
	"flowgraph/stages/column"
)

// made is a bucket that a test writes itself: what no recording holds.
type made struct {
	t    *testing.T
	m    *membucket.Bucket
	docs map[string]*checkpoints.Document
}

func newMade(t *testing.T, vchannels ...string) *made {
	b := &made{t, membucket.New(), map[string]*checkpoints.Document{}}
	for _, v := range vchannels {
		end := checkpoints.Position{Offset: 1000, Tick: 1000}
		b.docs[v] = &checkpoints.Document{
			Version: checkpoints.Version, VChannel: v + "-0", Topic: v, TopicID: "T", Epoch: 1, Owner: "o", Sequence: 1, ReadFrom: end, Seek: end,
			Collections: map[int64]*checkpoints.Collection{}, Segments: map[int64]*checkpoints.Segment{},
		}
	}
	return b
}

// event lets a DDL event happen at an offset and timestamp that are equal.
func (b *made) event(vchannel string, e checkpoints.Event) {
	b.t.Helper()
	e.Offset = int64(e.Timestamp)
	d := b.docs[vchannel]
	if err := d.Apply(checkpoints.Change{Event: &e, Seek: d.Seek, ReadFrom: d.ReadFrom}); err != nil {
		b.t.Fatal(err)
	}
}

// madeRow is a row or a delete.
type madeRow struct {
	key int64
	ts  uint64
	id  int64
}

// segment stores rows with int32 fields besides, all of value 5, as one
// flush; deletes with level L0.
func (b *made) segment(vchannel string, level checkpoints.Level, collection, partition, id int64, rows []madeRow, more ...int64) {
	b.t.Helper()
	d := b.docs[vchannel]
	s := checkpoints.Segment{
		ID: id, Collection: collection, Partition: partition, Level: level, Auto: level == checkpoints.L0, State: checkpoints.Flushed, Generation: d.Generation(),
		Start: checkpoints.Position{Offset: id}, End: checkpoints.Position{Offset: id + 1}, Rows: int64(len(rows)), Bytes: 1,
		Logs: []checkpoints.Log{{ID: "100000010000000001", Rows: int64(len(rows)), Bytes: 1, MinTS: rows[0].ts, MaxTS: rows[0].ts}},
	}
	pool := &column.Pool{}
	number := func(id int64, value func(madeRow) int64) *column.Column {
		c := &column.Column{Field: column.Field{ID: id, Type: schemapb.DataType_Int64}}
		for _, r := range rows {
			c.AppendInt64(pool, value(r), 1)
		}
		return c
	}
	for _, r := range rows {
		s.Logs[0].MinTS, s.Logs[0].MaxTS = min(s.Logs[0].MinTS, r.ts), max(s.Logs[0].MaxTS, r.ts)
	}
	keys, times := number(100, func(r madeRow) int64 { return r.key }), number(column.Timestamp, func(r madeRow) int64 { return int64(r.ts) })
	var encoder binlog.Encoder
	meta := binlog.Meta{Collection: collection, Partition: partition, Segment: id, MinTS: s.Logs[0].MinTS, MaxTS: s.Logs[0].MaxTS}
	if level == checkpoints.L0 {
		file, err := encoder.EncodeDeltas(meta, keys, times)
		b.put(s.DataKeys(s.Logs[0].ID)[0], file, err)
	} else {
		columns := []*column.Column{number(column.RowID, func(r madeRow) int64 { return r.id }), times, keys}
		for _, field := range more {
			c := &column.Column{Field: column.Field{ID: field, Type: schemapb.DataType_Int32}}
			for range rows {
				c.AppendFixed(pool, binary.LittleEndian.AppendUint32(nil, 5))
			}
			columns = append(columns, c)
		}
		for _, c := range columns {
			s.Fields = append(s.Fields, c.Field.ID)
		}
		for i, key := range s.DataKeys(s.Logs[0].ID) {
			file, err := encoder.Encode(meta, columns[i])
			b.put(key, file, err)
		}
	}
	data, err := checkpoints.NewManifest(d, &s).Encode()
	if err != nil {
		b.t.Fatal(err)
	}
	put(b.t, b.m, s.ManifestKey(), data, nil)
}

func (b *made) put(key string, file *binlog.File, err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	var data []byte
	for _, p := range file.Parts {
		data = append(data, p...)
	}
	put(b.t, b.m, key, data, nil)
}

// open stores the documents and opens the archive.
func (b *made) open() *archive.Archive {
	b.t.Helper()
	for _, d := range b.docs {
		data, err := d.Encode()
		if err != nil {
			b.t.Fatal(err)
		}
		put(b.t, b.m, checkpoints.DocumentKey(d.VChannel), data, nil)
	}
	return open(b.t, b.m)
}

// madeSchema is a serialized schema with an Int64 key and more fields.
func madeSchema(t *testing.T, name string, more ...*schemapb.FieldSchema) []byte {
	t.Helper()
	fields := append([]*schemapb.FieldSchema{{FieldID: 100, Name: "id", IsPrimaryKey: true, DataType: schemapb.DataType_Int64}}, more...)
	raw, err := proto.Marshal(&schemapb.CollectionSchema{Name: name, Fields: fields})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// keysOf lists the keys of what is live, in the order of the answer.
func keysOf(t *testing.T, l *archive.Live) (out []int64) {
	t.Helper()
	for _, p := range l.Partitions {
		for r, err := range l.Rows(t.Context(), p, nil) {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, column.Int64(r.Values[2]))
		}
	}
	return out
}
