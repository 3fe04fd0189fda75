package stages

// rememberedSegments is how many segments a filter meets before it begins to
// forget those that no row has named since.
const rememberedSegments = 1 << 13

// recent is a map by segment ID that forgets what was not named for long: a
// worker that runs for months meets segments without end. It has two
// generations, and what is touched moves to the young one.
//
// Filter and buffer turn theirs at the same packs, and every message for which
// the filter touches an open segment makes the buffer touch it too. So while
// the filter takes a segment for open without asking the store, the buffer
// still knows whether it has sealed it.
type recent[V any] struct {
	young, old map[int64]V
	turns      int
}

func newRecent[V any]() *recent[V] { return &recent[V]{young: map[int64]V{}} }

func (r *recent[V]) get(id int64) (V, bool) {
	v, ok := r.young[id]
	if !ok {
		v, ok = r.old[id]
	}
	return v, ok
}

func (r *recent[V]) put(id int64, v V) { r.young[id] = v }

// touch keeps what is known of a segment for another generation.
func (r *recent[V]) touch(id int64, v V) {
	if _, ok := r.young[id]; !ok {
		r.young[id] = v
	}
}

// turn forgets what was not named in a whole generation, once for each.
func (r *recent[V]) turn(to int) {
	for ; r.turns < to; r.turns++ {
		r.young, r.old = map[int64]V{}, r.young
	}
}
