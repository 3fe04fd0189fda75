package archive

import "encoding/binary"

// entryKind tells rows from deletes.
type entryKind uint8

const (
	rowEntry entryKind = iota
	deleteEntry
)

// entry is one row or delete that was produced.
type entry struct {
	digest   digest
	id       int64 // row ID; of a delete its number in stream order
	identity int64 // offset that decides about it; -1 if unknown
	segment  int64 // that the message names
	place    int32
	next     int32 // the next entry of equal content, in stream order; 0: none
	kind     entryKind
	doubt    doubt
}

// doubt is what cannot be known of an entry because the log before it is gone.
type doubt uint8

const (
	certain        doubt = iota
	perhapsRepeat        // what is stored may be of its first copy: at another offset
	perhapsLeftOut       // nothing of it may be stored
)

// item is one row or delete that is stored.
type item struct {
	digest  digest
	id      int64 // row ID; of a delete its timestamp
	number  int64 // in its segment
	segment int32 // number of its segment's check
	kind    entryKind
}

const (
	entrySize = 16 + 8 + 8 + 8 + 4 + 2
	itemSize  = 16 + 8 + 8 + 4 + 1
)

// part is the part that an entry and what is stored of it share. Rows are
// dealt by their ID and not by content, so that an altered row meets what it
// was meant to be.
func partOf(kind entryKind, d *digest, place int32, id int64) uint64 {
	if kind == deleteEntry {
		return binary.LittleEndian.Uint64(d[:])
	}
	return spread(place, id)
}

func (e *entry) keepIn(s *spool) {
	p := pack{s.slot(partOf(e.kind, &e.digest, e.place, e.id))}
	p.bytes(e.digest[:])
	p.int64(e.id)
	p.int64(e.identity)
	p.int64(e.segment)
	p.int32(e.place)
	p.byte(byte(e.kind))
	p.byte(byte(e.doubt))
}

func readEntry(record []byte) (e entry) {
	u := unpack{record}
	u.bytes(e.digest[:])
	e.id, e.identity, e.segment, e.place = u.int64(), u.int64(), u.int64(), u.int32()
	e.kind, e.doubt = entryKind(u.byte()), doubt(u.byte())
	return e
}

func (t *item) keepIn(s *spool, place int32) {
	p := pack{s.slot(partOf(t.kind, &t.digest, place, t.id))}
	p.bytes(t.digest[:])
	p.int64(t.id)
	p.int64(t.number)
	p.int32(t.segment)
	p.byte(byte(t.kind))
}

func readItem(record []byte) (t item) {
	u := unpack{record}
	u.bytes(t.digest[:])
	t.id, t.number, t.segment, t.kind = u.int64(), u.int64(), u.int32(), entryKind(u.byte())
	return t
}

// entries are some of what was produced, found by content. Equal ones are a
// chain in stream order.
type entries struct {
	list    []entry // the first is none, so that 0 can mean none
	heads   map[digest]int32
	tails   map[digest]int32 // of chains of more than one
	seen    []bool
	begin   map[digest]int32 // the first of a chain that may be unseen, once it is not the head
	byRowID map[rowKey]int32 // made when the first row is not found
}

type rowKey struct {
	place int32
	id    int64
}

func newEntries(n int) *entries {
	return &entries{
		list: make([]entry, 1, n+1), seen: make([]bool, n+1), heads: make(map[digest]int32, n),
		tails: map[digest]int32{}, begin: map[digest]int32{},
	}
}

func (e *entries) add(n entry) {
	i := int32(len(e.list))
	e.list = append(e.list, n)
	head, twice := e.heads[n.digest]
	if !twice {
		e.heads[n.digest] = i
		return
	}
	tail, ok := e.tails[n.digest]
	if !ok {
		tail = head
	}
	e.list[tail].next = i
	e.tails[n.digest] = i
}

// take marks the first unseen entry of this content that may be meant as seen,
// or the first of them that is preferred; 0 if there is none. known says whether the content was
// produced at all.
func (e *entries) take(d digest, meant, preferred func(*entry) bool) (at int32, known bool) {
	head, known := e.heads[d]
	if !known {
		return 0, false
	}
	from := head
	if later, ok := e.begin[d]; ok {
		from = later
	}
	first, unseen := int32(0), int32(0)
	for i := from; i != 0; i = e.list[i].next {
		if e.seen[i] {
			continue
		}
		if unseen == 0 {
			unseen = i
		}
		if !meant(&e.list[i]) {
			continue
		}
		if first == 0 {
			first = i
		}
		if preferred(&e.list[i]) {
			at = i
			break
		}
	}
	if at == 0 {
		at = first
	}
	if at == 0 {
		return 0, true
	}
	e.seen[at] = true
	if at == unseen && e.list[at].next != 0 {
		e.begin[d] = e.list[at].next
	}
	return at, true
}

// sameRow finds the unseen row of this ID in a place: what another content
// was probably meant to be.
func (e *entries) sameRow(place int32, id int64) int32 {
	if e.byRowID == nil {
		e.byRowID = map[rowKey]int32{}
		for i := range e.list {
			if n := &e.list[i]; i > 0 && n.kind == rowEntry {
				e.byRowID[rowKey{n.place, n.id}] = int32(i)
			}
		}
	}
	if i := e.byRowID[rowKey{place, id}]; i != 0 && !e.seen[i] {
		return i
	}
	return 0
}
