package binlog

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
)

// wrapped puts a head before a payload that was written elsewhere.
func wrapped(extras string, h head, payload []byte) []byte {
	b := h.encode([]byte(extras))
	b = append(b, payload...)
	h.patch(b, int64(len(b)))
	return b
}

// foreign writes a payload with arrow: text and its length in a row, every
// third row null.
func foreign(t *testing.T, rows int, props *parquet.WriterProperties, types ...arrow.DataType) []byte {
	t.Helper()
	fields := make([]arrow.Field, len(types))
	for i, typ := range types {
		fields[i] = arrow.Field{Name: fmt.Sprint(i), Type: typ, Nullable: true}
	}
	schema := arrow.NewSchema(fields, nil)
	var w bytes.Buffer
	out, err := pqarrow.NewFileWriter(schema, &w, props, pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for range 3 { // three row groups
		for i := range rows {
			for _, f := range b.Fields() {
				switch f := f.(type) {
				case *array.StringBuilder:
					f.Append(fmt.Sprint("text ", i%100))
				case *array.Int64Builder:
					f.Append(int64(i))
				}
				if i%3 == 2 && len(types) == 1 {
					f.AppendNull()
				}
			}
		}
		if err := out.Write(b.NewRecordBatch()); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return w.Bytes()
}

// Other releases, and tools that write for Milvus, choose other encodings.
func TestReadEveryParquetLayout(t *testing.T) {
	const rows = 5000
	for name, props := range map[string]*parquet.WriterProperties{
		"dictionary, snappy, V1": parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy), parquet.WithDataPageSize(1000)),
		"dictionary, zstd, V2":   parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd), parquet.WithDataPageVersion(parquet.DataPageV2), parquet.WithDataPageSize(1000)),
		"plain, raw, V2":         parquet.NewWriterProperties(parquet.WithDictionaryDefault(false), parquet.WithDataPageVersion(parquet.DataPageV2)),
		"delta":                  parquet.NewWriterProperties(parquet.WithDictionaryDefault(false), parquet.WithEncoding(parquet.Encodings.DeltaByteArray)),
		"format 1.0":             parquet.NewWriterProperties(parquet.WithVersion(parquet.V1_0)),
	} {
		t.Run(name, func(t *testing.T) {
			h := head{meta: meta, field: 108, kind: schemapb.DataType_VarChar, event: InsertEvent}
			log, err := Read(wrapped(`{"original_size":25,"other":[1]}`, h, foreign(t, rows, props, arrow.BinaryTypes.String)))
			if err != nil {
				t.Fatal(err)
			}
			got := lines(t, log.Rows)
			if len(got) != 3*(rows+rows/3) || !log.Rows.Field.Nullable || log.Descriptor.Extras.OriginalSize != 25 {
				t.Fatalf("%d rows of %+v", len(got), log.Rows.Field)
			}
			for at, i := 0, 0; at < len(got); i++ {
				if want := fmt.Sprintf(`"text %d"`, i%rows%100); got[at] != want {
					t.Fatalf("row %d is %s, want %s", at, got[at], want)
				}
				at++
				if i%rows%3 == 2 {
					if got[at] != "null" {
						t.Fatalf("row %d is %s", at, got[at])
					}
					at++
				}
			}
		})
	}
}

// A delta log of columns names its key's type nowhere but in the payload.
func TestReadDeltaColumnsOfManyRowGroups(t *testing.T) {
	payload := foreign(t, 500, parquet.NewWriterProperties(), arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64)
	h := head{meta: meta, field: -1, kind: schemapb.DataType_Int64, event: DeleteEvent}
	d, err := ReadDeltas(wrapped(`{"original_size":"1","version":"MULTI_FIELD"}`, h, payload))
	if err != nil {
		t.Fatal(err)
	}
	if d.Keys.Rows != 1500 || d.Timestamps.Rows != 1500 || d.Keys.Field.Type != schemapb.DataType_VarChar || lines(t, d.Timestamps)[1499] != "499" {
		t.Errorf("%d keys of %v", d.Keys.Rows, d.Keys.Field.Type)
	}
}

// What is not ours to read is refused by name, not read as something else.
func TestForeignKindsAreRefused(t *testing.T) {
	payload := foreign(t, 5, parquet.NewWriterProperties(), arrow.PrimitiveTypes.Int64)
	insert := head{meta: meta, field: 108, kind: schemapb.DataType_Int64, event: InsertEvent}
	other, index, vectors := insert, insert, insert
	other.kind, index.event, vectors.kind = schemapb.DataType_VarChar, 7, schemapb.DataType_ArrayOfVector
	for name, b := range map[string][]byte{
		"encrypted":        wrapped(`{"edek":"x","encryption_zone":1}`, insert, payload),
		"another type":     wrapped(`{}`, other, payload),
		"index file":       wrapped(`{}`, index, payload),
		"lists of vectors": wrapped(`{}`, vectors, payload),
		"extras":           wrapped(`{"nullable":1}`, insert, payload),
		"bytes after":      append(wrapped(`{}`, insert, payload), 0),
		"no parquet":       wrapped(`{}`, insert, []byte("PAR1PAR1")),
	} {
		if log, err := Read(b); err == nil {
			t.Errorf("%s: read as %d rows", name, log.Rows.Rows)
		}
	}
	if _, err := ReadDeltas(wrapped(`{}`, insert, payload)); err == nil {
		t.Error("an insert log is read as deletes")
	}
}
