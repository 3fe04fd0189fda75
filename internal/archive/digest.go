package archive

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// digest stands for the whole content of a row or delete.
type digest [16]byte

// digester hashes rows: place, row ID, timestamp and every field's bytes.
// Nulls are left out, so that a field that a message leaves out is one.
type digester struct {
	h       hash.Hash
	buf     []byte
	scratch []byte
}

func newDigester() digester { return digester{h: sha256.New()} }

func (d *digester) begin(kind entryKind, place int32) {
	d.h.Reset()
	d.buf = append(d.buf[:0], byte(kind))
	d.number(uint64(place))
}

func (d *digester) number(v uint64) { d.buf = binary.LittleEndian.AppendUint64(d.buf, v) }

// field adds a value behind its ID and length.
func (d *digester) field(id int64, v []byte) {
	d.number(uint64(id))
	d.number(uint64(len(v)))
	d.buf = append(d.buf, v...)
}

func (d *digester) sum() (out digest) {
	d.h.Write(d.buf) // never fails
	copy(out[:], d.h.Sum(d.buf[:0]))
	return out
}

// row is the digest of a message's row i.
func (d *digester) row(place int32, id, ts uint64, columns []fieldColumn, i int) digest {
	d.begin(rowEntry, place)
	d.number(id)
	d.number(ts)
	for _, c := range columns {
		if len(c.valid) > 0 && !c.valid[i] {
			continue
		}
		if d.scratch == nil {
			d.scratch = make([]byte, 0, 64)
		}
		d.field(c.id, c.value(i, d.scratch))
	}
	return d.sum()
}

// stored is the digest of a row in a segment with these fields.
func (d *digester) stored(place int32, fields []int64, r Row) digest {
	d.begin(rowEntry, place)
	d.number(uint64(r.ID))
	d.number(r.Timestamp)
	for i, v := range r.Values {
		if i > 1 && v != nil {
			d.field(fields[i], v)
		}
	}
	return d.sum()
}

func (d *digester) delete(place int32, key []byte, ts uint64) digest {
	d.begin(deleteEntry, place)
	d.number(ts)
	d.field(0, key)
	return d.sum()
}
