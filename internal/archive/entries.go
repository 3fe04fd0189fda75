package archive

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
}

// entries are found by content. Equal ones are a chain in stream order.
type entries struct {
	list  []entry // the first is none, so that 0 can mean none
	heads map[digest]int32
	tails map[digest]int32 // of chains of more than one
}

func newEntries() entries {
	return entries{list: make([]entry, 1), heads: map[digest]int32{}, tails: map[digest]int32{}}
}

func (e *entries) add(d digest, n entry) {
	n.digest = d
	i := int32(len(e.list))
	e.list = append(e.list, n)
	head, twice := e.heads[d]
	if !twice {
		e.heads[d] = i
		return
	}
	tail, ok := e.tails[d]
	if !ok {
		tail = head
	}
	e.list[tail].next = i
	e.tails[d] = i
}

// found is what one check has found of the entries.
type found struct {
	*entries
	seen    []bool
	begin   map[digest]int32 // the first of a chain that may be unseen, once it is not the head
	byRowID map[rowKey]int32 // made when the first row is not found
}

type rowKey struct {
	place int32
	id    int64
}

func (e *entries) newFound() *found {
	return &found{entries: e, seen: make([]bool, len(e.list)), begin: map[digest]int32{}}
}

// take marks the first unseen entry of this content as seen, or the first
// that is preferred; 0 if there is none. known says whether the content was
// produced at all.
func (f *found) take(d digest, preferred func(*entry) bool) (at int32, known bool) {
	head, known := f.heads[d]
	if !known {
		return 0, false
	}
	from := head
	if later, ok := f.begin[d]; ok {
		from = later
	}
	first := int32(0)
	for i := from; i != 0; i = f.list[i].next {
		if f.seen[i] {
			continue
		}
		if first == 0 {
			first = i
		}
		if preferred(&f.list[i]) {
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
	f.seen[at] = true
	if at == first && f.list[at].next != 0 {
		f.begin[d] = f.list[at].next
	}
	return at, true
}

// sameRow finds the unseen row of this ID in a place: what another content
// was probably meant to be.
func (f *found) sameRow(place int32, id int64) int32 {
	if f.byRowID == nil {
		f.byRowID = map[rowKey]int32{}
		for i := range f.list {
			if e := &f.list[i]; i > 0 && e.kind == rowEntry {
				f.byRowID[rowKey{e.place, e.id}] = int32(i)
			}
		}
	}
	if i := f.byRowID[rowKey{place, id}]; i != 0 && !f.seen[i] {
		return i
	}
	return 0
}
