package binlog

// FilterKind is a kind of bloom filter of a flush's keys.
type FilterKind int

const (
	// BlockedFilter costs one cache line a key: Milvus' default from 2.5 on.
	// Older releases cannot read it.
	BlockedFilter FilterKind = iota
	// BasicFilter is the only one up to 2.4.
	BasicFilter
	// AlwaysTrue is no filter: Milvus writes it where there is nothing to gain.
	AlwaysTrue
)

// Milvus' numbers of the kinds in a statistics object. A missing one is basic.
const (
	typeAlwaysTrue = 2
	typeBasic      = 3
	typeBlocked    = 4
)

// falsePositives is the rate for which filters are made, as Milvus' default
// from 2.4 on.
const falsePositives = 0.001

// maxHashes is far above what any number of keys leads to; a greater one in a
// file would only cost time.
const maxHashes = 1 << 10

// filter is a set of keys that may also claim to hold others.
type filter interface {
	add(key []byte)
	has(key []byte) bool
	hashes() int
	bits() int64
	// write writes the filter as Milvus has it in a statistics object, JSON.
	write(g *gather, w *workspace)
}

// newFilter returns an empty filter for so many keys, and Milvus' number of
// its kind. Only basic ones are made for another rate than falsePositives.
// What it takes of the workspace is in use until it is written.
func newFilter(kind FilterKind, keys int, rate float64, w *workspace) (filter, int) {
	if kind == BasicFilter {
		return newBasic(keys, rate), typeBasic
	}
	f := newBlocked(keys, w.filter)
	w.filter = f.blocks
	return f, typeBlocked
}
