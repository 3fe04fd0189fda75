package binlog

import (
	"bytes"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/stages/column"
)

// What a file may expand to: rows that are alike shrink a thousandfold, but a
// damaged count must not ask for all the memory there is. A page is made room
// for as large as its header says before it is unpacked; no four bytes of zstd
// can become more than one block of 128 KiB.
const (
	pageFloor, pageFactor     = 128 << 20, 256
	zstdFactor                = 128 << 10 / 4
	columnFloor, columnFactor = 256 << 20, 1024
)

// Read reads a whole insert or delta log. The rows do not refer to b.
// Whatever the bytes are, it answers or fails with ErrCorrupt or
// ErrUnsupported.
func Read(b []byte) (log *Log, err error) {
	if log, err = ReadHeaders(b); err != nil {
		return nil, err
	}
	defer func() { // the Parquet library panics on some damaged files
		if p := recover(); p != nil {
			log, err = nil, fmt.Errorf("%w: parquet: %v", ErrCorrupt, p)
		}
	}()
	p, err := openPayload(log.Payload)
	if err != nil {
		return nil, err
	}
	if log.Parquet, err = p.describe(); err != nil {
		return nil, err
	}
	if log.Data.Type == DeleteEvent {
		log.Deltas, err = p.deltas(log.Descriptor)
	} else {
		log.Rows, err = p.rows(log.Descriptor)
	}
	if err != nil {
		return nil, err
	}
	return log, nil
}

// ReadDeltas reads a delta log of any of Milvus' formats; errors as of Read.
func ReadDeltas(b []byte) (*Deltas, error) {
	log, err := Read(b)
	if err != nil {
		return nil, err
	}
	if log.Deltas == nil {
		return nil, fmt.Errorf("%w: not a delta log", ErrUnsupported)
	}
	return log.Deltas, nil
}

// payload is an opened Parquet file.
type payload struct {
	r     *file.Reader
	size  int64
	limit int64 // bytes that one column may expand to
}

func openPayload(b []byte) (*payload, error) {
	if err := checkFooter(b); err != nil {
		return nil, err
	}
	props := parquet.NewReaderProperties(memory.NewGoAllocator())
	size := int64(len(b))
	props.MaxUncompressedPageSize = min(zstdFactor*size, pageFloor+pageFactor*size, maxPayload)
	r, err := file.NewParquetReader(bytes.NewReader(b), file.WithReadProps(props))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return &payload{r: r, size: size, limit: columnFloor + columnFactor*size}, nil
}

// describe fills in what a dump shows, and checks the places of all column
// chunks before anything is read by them.
func (p *payload) describe() (Parquet, error) {
	md := p.r.MetaData()
	out := Parquet{CreatedBy: md.GetCreatedBy(), RowGroups: p.r.NumRowGroups(), Rows: p.r.NumRows()}
	if md.Schema.NumColumns() == 0 {
		return out, fmt.Errorf("%w: parquet without a column", ErrCorrupt)
	}
	out.Column = md.Schema.Column(0).Name()
	out.Optional = md.Schema.Column(0).MaxDefinitionLevel() > 0
	for g := range p.r.NumRowGroups() {
		group := md.RowGroup(g)
		if group.NumColumns() != md.Schema.NumColumns() {
			return out, fmt.Errorf("%w: %d columns in row group %d", ErrCorrupt, group.NumColumns(), g)
		}
		for i := range group.NumColumns() {
			chunk, err := group.ColumnChunk(i)
			if err != nil {
				return out, fmt.Errorf("%w: %w", ErrCorrupt, err)
			}
			start, size := chunk.DataPageOffset(), chunk.TotalCompressedSize()
			if start < 0 || size < 0 || start > p.size || size > p.size || chunk.NumValues() < 0 {
				return out, fmt.Errorf("%w: column chunk of %d bytes at %d", ErrCorrupt, size, start)
			}
			if g == 0 && i == 0 {
				out.Codec = chunk.Compression().String()
				for _, e := range chunk.Encodings() {
					out.Encodings = append(out.Encodings, e.String())
				}
			}
		}
	}
	return out, nil
}

// rows reads an insert log's one column.
func (p *payload) rows(d Descriptor) (*column.Column, error) {
	schema := p.r.MetaData().Schema
	if n := schema.NumColumns(); n != 1 {
		return nil, fmt.Errorf("%w: %d columns", ErrUnsupported, n)
	}
	leaf := schema.Column(0)
	f := column.Field{ID: d.Field, Type: d.Type, Nullable: d.Extras.Nullable || leaf.MaxDefinitionLevel() > 0}
	if leaf.PhysicalType() == parquet.Types.FixedLenByteArray {
		f.Dim = dimension(d.Type, leaf.TypeLength())
	}
	want, err := leafOf(f)
	if err != nil {
		return nil, err
	}
	if int32(leaf.PhysicalType()) != want.physical || want.physical == parquetFixed && leaf.TypeLength() != f.Width() {
		return nil, fmt.Errorf("%w: %v stored as %v(%d)", ErrCorrupt, d.Type, leaf.PhysicalType(), leaf.TypeLength())
	}
	return p.column(0, f)
}

// dimension is a vector's, from the width of its values.
func dimension(t column.Type, width int) int {
	switch t {
	case schemapb.DataType_FloatVector:
		return width / 4
	case schemapb.DataType_BinaryVector:
		return width * 8
	case schemapb.DataType_Float16Vector, schemapb.DataType_BFloat16Vector:
		return width / 2
	}
	return width
}
