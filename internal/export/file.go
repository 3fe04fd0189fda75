package export

import (
	"fmt"
	"io"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/internal/archive"
)

// A row group is the unit that readers work on in parallel and this writer
// holds in memory: it ends at either of these.
const (
	groupRows  = 128 << 10
	groupBytes = 64 << 20 // of values
)

// file is one Parquet file being written.
type file struct {
	fields  []archive.LiveField
	skip    int // columns of a row that are not written
	build   *array.RecordBuilder
	add     []appender
	w       *pqarrow.FileWriter
	rows    int64
	pending int64 // rows of the group
	bytes   int64 // of their values
}

// newFile begins a file with the fields behind the first skip ones of a row.
func newFile(to io.Writer, schema *arrow.Schema, fields []archive.LiveField, skip int) (*file, error) {
	f := &file{fields: fields[skip:], skip: skip}
	props := []parquet.WriterProperty{
		parquet.WithCompression(compress.Codecs.Zstd), parquet.WithCreatedBy("flowgraph"), parquet.WithMaxRowGroupLength(groupRows),
	}
	for _, field := range f.fields {
		if isVector(field.Type) { // neither repeats values nor is searched by range
			leaf := field.Name + ".list.element"
			props = append(props, parquet.WithDictionaryFor(leaf, false), parquet.WithStatsFor(leaf, false))
		}
	}
	// The stored Arrow schema tells readers that know it the length of vectors.
	w, err := pqarrow.NewFileWriter(schema, to, parquet.NewWriterProperties(props...), pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		return nil, fmt.Errorf("begin parquet file: %w", err)
	}
	f.w, f.build = w, array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	for i, field := range f.fields {
		f.add = append(f.add, appenderOf(field.Field, f.build.Field(i)))
	}
	return f, nil
}

func isVector(t schemapb.DataType) bool {
	return t >= schemapb.DataType_BinaryVector && t <= schemapb.DataType_Int8Vector && t != schemapb.DataType_SparseFloatVector
}

// append adds a row.
func (f *file) append(row archive.Row) error {
	for i, v := range row.Values[f.skip:] {
		if v == nil {
			f.build.Field(i).AppendNull()
			continue
		}
		if err := f.add[i](v); err != nil {
			return fmt.Errorf("row ID %d, field %q: %w", row.ID, f.fields[i].Name, err)
		}
		f.bytes += int64(len(v))
	}
	f.rows++
	if f.pending++; f.pending >= groupRows || f.bytes >= groupBytes {
		return f.group()
	}
	return nil
}

// group writes the rows that are pending as a row group.
func (f *file) group() error {
	batch := f.build.NewRecordBatch()
	defer batch.Release()
	f.pending, f.bytes = 0, 0
	if err := f.w.Write(batch); err != nil {
		return fmt.Errorf("write row group: %w", err)
	}
	return nil
}

// note adds to the file's own metadata.
func (f *file) note(key, value string) error {
	return f.w.AppendKeyValueMetadata("flowgraph."+key, value)
}

func (f *file) noteNumber(key string, n int64) error { return f.note(key, strconv.FormatInt(n, 10)) }

// close ends the file. It does not close what it was written to.
func (f *file) close() error {
	if f.pending > 0 {
		if err := f.group(); err != nil {
			return err
		}
	}
	f.build.Release()
	if err := f.w.Close(); err != nil {
		return fmt.Errorf("end parquet file: %w", err)
	}
	return nil
}
