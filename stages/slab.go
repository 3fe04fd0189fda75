package stages

import (
	"slices"
	"sync"

	"flowgraph/stages/wire"
)

// Slabs hands out the memory in which a batch's records and messages stand and
// takes it back, so that a message costs no allocation. The zero value is
// ready; it is safe for concurrent use and shared by all flows of a worker.
type Slabs struct{ pool sync.Pool }

// slab is the memory of one batch.
type slab struct {
	from     *Slabs
	records  []Record
	headers  []wire.Header
	messages []Message
	inserts  []wire.Insert
	deletes  []wire.Delete
}

// maxSlab is how many messages a slab may have room for to be kept.
const maxSlab = 1 << 13

// Raw returns a batch with room for n records, which are to be added.
func (s *Slabs) Raw(n int) *Raw {
	m, ok := s.pool.Get().(*slab)
	if !ok {
		m = &slab{from: s}
	}
	m.records = slices.Grow(m.records, n)
	return &Raw{slab: m}
}

// Add adds a record.
func (r *Raw) Add(record Record) {
	if r.slab == nil {
		r.slab = &slab{records: r.Records}
	}
	r.slab.records = append(r.slab.records, record)
	r.Records = r.slab.records
}

// AddHeader adds a header to the last record.
func (r *Raw) AddHeader(key string, value []byte) {
	last := &r.Records[len(r.Records)-1]
	all := append(r.slab.headers, wire.Header{Key: key, Value: value})
	last.Headers = all[len(all)-len(last.Headers)-1 : len(all) : len(all)]
	r.slab.headers = all
}

// Own copies what the records hold out of what was fetched, which a batch that
// waits must not hold back: a time tick comes with megabytes of others' rows.
func (r *Raw) Own() {
	size := 0
	r.views(func(v []byte) []byte { size += len(v); return v })
	own := make([]byte, 0, size)
	r.views(func(v []byte) []byte {
		if v == nil {
			return nil
		}
		from := len(own)
		own = append(own, v...)
		return own[from:len(own):len(own)]
	})
}

// views has each view of the records changed.
func (r *Raw) views(change func([]byte) []byte) {
	for i := range r.Records {
		record := &r.Records[i]
		record.Key, record.Value = change(record.Key), change(record.Value)
		for j := range record.Headers {
			record.Headers[j].Value = change(record.Headers[j].Value)
		}
	}
}

// Join adds the records of the batch that follows in the log, which is not to
// be used any more.
func (r *Raw) Join(next *Raw) {
	for _, record := range next.Records {
		headers := record.Headers
		record.Headers = nil
		r.Add(record)
		for _, h := range headers {
			r.AddHeader(h.Key, h.Value)
		}
	}
	r.Bytes += next.Bytes
	next.slab.release()
}

// Release gives the memory of a pack's messages back once the buffer has
// copied what it needs: nobody may hold a view of them any more.
func (p *Pack) Release() {
	p.slab.release()
	p.slab, p.Messages = nil, nil
}

func (m *slab) release() {
	if m == nil || m.from == nil || max(cap(m.messages), cap(m.records)) > maxSlab {
		return
	}
	// What was used must not hold back what was fetched.
	clear(m.records)
	clear(m.headers)
	clear(m.messages)
	clear(m.inserts)
	clear(m.deletes)
	m.records, m.headers, m.messages = m.records[:0], m.headers[:0], m.messages[:0]
	m.inserts, m.deletes = m.inserts[:0], m.deletes[:0]
	m.from.pool.Put(m)
}

// insert returns an empty insert. Where the slab moves on to a bigger one,
// earlier inserts stay where they are.
func (m *slab) insert() *wire.Insert {
	m.inserts = append(m.inserts, wire.Insert{})
	return &m.inserts[len(m.inserts)-1]
}

func (m *slab) delete() *wire.Delete {
	m.deletes = append(m.deletes, wire.Delete{})
	return &m.deletes[len(m.deletes)-1]
}

// own copies a message out of its slab: that of a transaction waits for its
// commit.
func (m Message) own() Message {
	record := *m.Record
	record.Headers = slices.Clone(record.Headers)
	m.Record = &record
	if m.Insert != nil {
		in := *m.Insert
		m.Insert = &in
	}
	if m.Delete != nil {
		del := *m.Delete
		m.Delete = &del
	}
	return m
}
