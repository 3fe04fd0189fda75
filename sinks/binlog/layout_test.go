package binlog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/stages/column"
)

// Our files against the golden ones, rows being equal. Equal are the magic,
// both events' types and places, the descriptor with the payload type, the
// post header lengths, the form of the extras, the event's timestamps and the
// schema nodes. Different, and ignored by every reader of Milvus:
//   - the events' own timestamps: time of writing there, newest row here
//   - original_size: Milvus counts headers of Go values, we the values' bytes
//   - in files of the stream writer, which compaction uses: the column has the
//     field's ID as its name and is OPTIONAL whatever the extras say, the data
//     event is at 1 to 1 and its next position is -1
//   - created_by, codec, dictionary (so no page and no offset of one), and that
//     bounds are in min_value and max_value alone
//   - vectors, JSON, arrays and geometries have no bounds here, nor have texts
//     of more than 64 bytes, booleans and deletes: no reader skips anything by the order
//     of their bytes
//   - statistics stand once, in the footer, not in every page's header too:
//     a file is read whole. They have no distinct_count, which Milvus writes
//     as 0 whatever it is
//   - optional in Parquet and left out: encoding_stats, the row group's ordinal
//     and an empty list of key-value metadata. The chunk's deprecated
//     file_offset is 0, as newer releases of Parquet ask for
//   - the schema's root, which has no repetition by the specification, is
//     REQUIRED here and REPEATED there
//   - up to 2.3 the extras have no "nullable", which means false
func TestLayoutIsThatOfMilvus(t *testing.T) {
	var e Encoder
	for _, folder := range []string{"v1-insertcodec-BlockedBloomFilter", "v1-insertcodec-BasicBloomFilter", "v1-insertcodec-2.6.9-types", "v1-streamwriter"} {
		for _, f := range goldenLogs(t, folder) {
			want := mustRead(t, f)
			d := want.Descriptor
			want.Rows.Field.Nullable = d.Extras.Nullable
			ours, err := e.Encode(Meta{d.Collection, d.Partition, d.Segment, d.MinTS, d.MaxTS}, want.Rows)
			if err != nil {
				t.Fatalf("%s: %v", f.key, err)
			}
			got, err := Read(joined(ours))
			if err != nil {
				t.Fatalf("%s: %v", f.key, err)
			}
			theirs := node(t, want.Payload)
			if folder == "v1-streamwriter" {
				if want.Parquet.Column != strconv.FormatInt(f.field, 10) || !want.Parquet.Optional || want.Data.MinTS != 1 || want.Data.MaxTS != 1 || want.Data.Next != -1 {
					t.Errorf("%s: %+v, %+v", f.key, want.Parquet, want.Data)
				}
				want.Parquet.Column, want.Parquet.Optional, want.Data.MinTS, want.Data.MaxTS = "val", d.Extras.Nullable, d.MinTS, d.MaxTS
				if !d.Extras.Nullable {
					theirs = strings.Replace(theirs, "optional", "required", 1)
				}
			}
			if w, g := layout(want), layout(got); w != g {
				t.Errorf("%s:\n got %s\nwant %s", f.key, g, w)
			}
			if g := node(t, got.Payload); theirs != g {
				t.Errorf("%s:\n got %s\nwant %s", f.key, g, theirs)
			}
			sameBounds(t, f, want, got)
			if got.Data.Next != int32(ours.Size) || got.Descriptor.Next != got.Descriptor.Length+magicSize {
				t.Errorf("%s: next positions %d and %d", f.key, got.Descriptor.Next, got.Data.Next)
			}
			ours.Free()
		}
	}
}

// sameBounds holds the statistics of the only column against Milvus'.
func sameBounds(t *testing.T, f logFile, want, got *Log) {
	t.Helper()
	w, g := boundsOf(t, want.Payload), boundsOf(t, got.Payload)
	if leaf, err := leafOf(got.Rows.Field); err != nil || !leaf.ordered {
		w, _, _ = strings.Cut(w, ",")
	}
	if w != g {
		t.Errorf("%s, %s: bounds %s, want %s", f.key, got.Rows.Field.Type, g, w)
	}
}

func boundsOf(t *testing.T, payload []byte) string {
	t.Helper()
	r, err := file.NewParquetReader(bytes.NewReader(payload))
	if err != nil {
		t.Fatal(err)
	}
	chunk, err := r.MetaData().RowGroup(0).ColumnChunk(0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := chunk.Statistics()
	if err != nil {
		t.Fatal(err)
	}
	out := fmt.Sprintf("%d rows, %d nulls", chunk.NumValues(), s.NullCount())
	out = strings.Replace(out, ", ", " ", 1)
	if s.HasMinMax() {
		out += fmt.Sprintf(", %x to %x", s.EncodeMin(), s.EncodeMax())
	}
	return out
}

// layout is what must be equal of the heads; sizes are left out.
func layout(l *Log) string {
	d := l.Descriptor
	extras := strings.ReplaceAll(string(d.RawExtras), fmt.Sprintf(`"%d"`, d.Extras.OriginalSize), `"N"`)
	fixed := d.Length - int32(len(d.RawExtras))
	return fmt.Sprint(d.Collection, d.Partition, d.Segment, d.Field, d.MinTS, d.MaxTS, d.Type, d.PostHeaders, extras, fixed,
		l.Data.Type, l.Data.MinTS, l.Data.MaxTS, l.Parquet.Column, l.Parquet.RowGroups, l.Parquet.Optional)
}

// node is the schema node as arrow understands it.
func node(t *testing.T, payload []byte) string {
	t.Helper()
	r, err := file.NewParquetReader(bytes.NewReader(payload))
	if err != nil {
		t.Fatal(err)
	}
	c := r.MetaData().Schema.Column(0)
	return fmt.Sprint(c.PhysicalType(), c.TypeLength(), c.LogicalType(), c.ConvertedType(), c.SchemaNode().RepetitionType(),
		r.MetaData().Schema.Root().Name(), r.MetaData().Version())
}

// Readers that skip pages or files by wrong bounds lose rows.
func TestBoundsAreThoseOfTheColumn(t *testing.T) {
	var pool column.Pool
	texts := column.New(column.Field{Type: schemapb.DataType_VarChar})
	for _, v := range []string{"m", "", "zz", "b"} {
		texts.AppendBytes(&pool, []byte(v))
	}
	long := column.New(column.Field{Type: schemapb.DataType_VarChar})
	long.AppendBytes(&pool, bytes.Repeat([]byte("x"), 65))
	ints := column.New(column.Field{Type: schemapb.DataType_Int64, Nullable: true})
	ints.AppendFixed(&pool, binary.LittleEndian.AppendUint64(nil, 5))
	ints.AppendNull(&pool)
	ints.AppendFixed(&pool, binary.LittleEndian.AppendUint64(nil, ^uint64(1)))
	floats := column.New(column.Field{Type: schemapb.DataType_Float})
	floats.AppendFixed(&pool, []byte{0, 0, 0xc0, 0x7f, 0, 0, 0, 0, 0, 0, 0x80, 0xbf}) // NaN, 0, -1
	vectors := fill(column.Field{Type: schemapb.DataType_FloatVector, Dim: 2}, 9, 0, 1)
	for want, c := range map[string]*column.Column{
		" zz 0":                               texts,
		"feffffffffffffff 0500000000000000 1": ints,
		"000080bf 00000000 0":                 floats,
		"none 0":                              vectors,
		"none 0 ":                             long,
	} {
		var e Encoder
		log, err := Read(joined(mustEncode(t, &e, c)))
		if err != nil {
			t.Fatal(err)
		}
		r, err := file.NewParquetReader(bytes.NewReader(log.Payload))
		if err != nil {
			t.Fatal(err)
		}
		chunk, err := r.MetaData().RowGroup(0).ColumnChunk(0)
		if err != nil {
			t.Fatal(err)
		}
		s, err := chunk.Statistics()
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("none %d", s.NullCount())
		if s.HasMinMax() {
			format := "%x %x %d"
			if c == texts {
				format = "%s %s %d"
			}
			got = fmt.Sprintf(format, s.EncodeMin(), s.EncodeMax(), s.NullCount())
		}
		if got != strings.TrimSuffix(want, " ") {
			t.Errorf("%v: bounds %q, want %q", c.Field.Type, got, want)
		}
	}
}
