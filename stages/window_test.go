package stages

import (
	"math/rand/v2"
	"slices"
	"testing"

	"flowgraph/checkpoints"
)

// plainWindow says what a window should, by looking at all it remembers.
type plainWindow []remembered

func (w *plainWindow) repeated(m messageID, at checkpoints.Position, ts uint64) bool {
	again := slices.ContainsFunc(*w, func(r remembered) bool { return r.messageID == m })
	if len(*w) == windowSize {
		*w = (*w)[1:]
	}
	*w = append(*w, remembered{messageID: m, at: at, ts: ts})
	return again
}

func (w *plainWindow) tick(ts uint64) {
	*w = slices.DeleteFunc(*w, func(r remembered) bool { return r.ts <= ts })
}

// A repeat that is not known doubles a row; a message taken for a repeat, or
// one forgotten without letting go of read_from, loses one.
func TestWhatIsRememberedDependsOnTheMessagesAlone(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1))
		spread := 1 + random.IntN(3*windowSize)
		w, want := newWindow(), plainWindow{}
		for i := range 4 * windowSize {
			at := checkpoints.Position{Offset: int64(i)}
			if random.IntN(1+spread/2) == 0 {
				ts := uint64(i - random.IntN(100) + 50)
				if random.IntN(3) == 0 {
					ts = 0 // releases what has no timestamp
				}
				w.tick(ts)
				want.tick(ts)
			}
			m := messageID{int64(1 + random.IntN(spread)), int32(random.IntN(2)), int32(random.IntN(2))}
			ts := uint64(i + random.IntN(100) - 50)
			if i < 50 || random.IntN(20) == 0 {
				ts = 0
			}
			shard := []byte{byte(m.shard)}
			m.shard = w.shardNumber(shard)
			if got, want := w.repeated(m.id, shard, m.kind, at, ts), want.repeated(m, at, ts); got != want {
				t.Fatalf("seed %d, message %d: repeated %t, want %t", seed, i, got, want)
			}
			if first, ok := w.first(); !ok || first != want[0].at {
				t.Fatalf("seed %d, message %d: the oldest is at %v, want %v", seed, i, first, want[0].at)
			}
		}
	}
}

func TestAMessageIsRememberedWithoutAllocation(t *testing.T) {
	w, shard, other, id := newWindow(), []byte("shard"), []byte("another"), int64(0)
	w.repeated(1, other, 1, checkpoints.Position{}, 0)
	for range 3 * windowSize {
		id++
		w.repeated(id, shard, 1, checkpoints.Position{}, uint64(id))
	}
	if n := testing.AllocsPerRun(1000, func() {
		id++
		w.repeated(id, other, 1, checkpoints.Position{}, uint64(id))
		w.repeated(id, shard, 1, checkpoints.Position{}, uint64(id))
		if id%50 == 0 {
			w.tick(uint64(id - id%100/2)) // all, or all but some
		}
	}); n > 0 {
		t.Errorf("%v allocations a message", n)
	}
}
