package binlog

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"flowgraph/stages/column"
)

// EncodeKeyStats writes the statistics of one flush's primary keys (Int64 or
// VarChar, not null, at least one): their bounds and a bloom filter, one JSON
// object without a binlog's head. The same keys give the same bytes. The
// result never borrows. Errors as of Encode.
func (e *Encoder) EncodeKeyStats(keys *column.Column, kind FilterKind) (*File, error) {
	return e.keyStats(keys, kind, falsePositives)
}

func (e *Encoder) keyStats(keys *column.Column, kind FilterKind, rate float64) (*File, error) {
	if t := keys.Field.Type; t != schemapb.DataType_Int64 && t != schemapb.DataType_VarChar {
		return nil, fmt.Errorf("statistics of %v keys: %w", t, ErrUnsupported)
	}
	b, err := keyBounds(keys)
	if err != nil {
		return nil, fmt.Errorf("keys of field %d: %w", keys.Field.ID, err)
	}
	w, err := e.workspace()
	if err != nil {
		return nil, err
	}
	defer e.release(w)
	f, number := newFilter(kind, keys.Rows, rate, w)
	addKeys(f, keys)

	g := newGather(e)
	// Milvus fills max and min only of what it calls old statistics, but its
	// readers want them to be there.
	g.write(fmt.Appendf(nil, `{"fieldID":%d,"max":0,"min":0,"bfType":%d,"bf":`, keys.Field.ID, number))
	f.write(g, w)
	out := fmt.Appendf(nil, `,"pkType":%d,"maxPk":`, keys.Field.Type)
	if keys.Field.Type == schemapb.DataType_Int64 {
		out = strconv.AppendInt(out, b.hi, 10)
		out = append(out, `,"minPk":`...)
		out = strconv.AppendInt(out, b.lo, 10)
	} else {
		out = appendString(out, b.shi)
		out = append(out, `,"minPk":`...)
		out = appendString(out, b.slo)
	}
	g.write(append(out, '}'))
	g.file.Rows, g.file.Original = keys.Rows, g.file.Size
	return g.sum()
}

// keyBounds also makes sure that the pages hold what they say.
func keyBounds(keys *column.Column) (b bounds, err error) {
	l, err := leafOf(keys.Field)
	if err != nil {
		return b, err
	}
	rows := 0
	for i := range keys.Pages {
		p := &keys.Pages[i]
		if n, err := values(p); err != nil || n < p.Rows {
			return b, fmt.Errorf("%w: a key is null", ErrCorrupt)
		}
		if err := b.add(l, keys.Field.Width(), p.Data, p.Rows); err != nil {
			return b, err
		}
		rows += p.Rows
	}
	if rows != keys.Rows || rows == 0 {
		return b, fmt.Errorf("%w: %d keys in pages, %d in the column", ErrCorrupt, rows, keys.Rows)
	}
	return b, nil
}

// addKeys walks pages that keyBounds has checked.
func addKeys(f filter, keys *column.Column) {
	fixed := keys.Field.Width() > 0
	for i := range keys.Pages {
		for data := keys.Pages[i].Data; len(data) > 0; {
			n, at := 8, 0
			if !fixed {
				n, at = int(binary.LittleEndian.Uint32(data)), 4
			}
			f.add(data[at : at+n])
			data = data[at+n:]
		}
	}
}
