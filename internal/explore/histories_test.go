package explore

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

var (
	histories = flag.Int("histories", 600, "how many random histories")
	seed      = flag.Uint64("seed", 1, "the first history's seed; the next ones count on from it")
)

// history draws the text of a script.
type history struct {
	rng     *rand.Rand
	lines   []string
	version map[int64]int // of live collections
	dead    []int64       // dropped ones
	next    int64         // collection to create next
	open    []int64       // transactions
	txn     int64
	sent    int // messages that a producer may repeat
	wal     bool
}

func (h *history) say(format string, args ...any) {
	h.lines = append(h.lines, fmt.Sprintf(format, args...))
}

func pick[T any](h *history, of ...T) T { return of[h.rng.IntN(len(of))] }

func newHistory(seed uint64, cuts bool) string {
	h := &history{rng: rand.New(rand.NewPCG(seed, 0)), version: map[int64]int{}, next: 1}
	h.wal = h.rng.IntN(2) == 0
	h.say("limits flush=%d deletes=%d rows=%d age=%s", pick(h, 1, 300, 1000000), pick(h, 1, 100, 1000000), pick(h, 0, 1, 4), pick(h, "2s", "1h"))
	h.say("limits idle=%s successor=%s lifetime=%s bytes=%d", pick(h, "1m", "24h"), pick(h, "10s", "24h"), pick(h, "1m", "24h"), pick(h, 500, 1000000))
	h.say("limits fold=%d every=%s", pick(h, 1, 1500, 1000000), pick(h, "1ms", "50ms", "1s"))
	h.create()
	h.create()
	for range 12 + h.rng.IntN(40) {
		h.line()
		if cuts && h.rng.IntN(20) == 0 {
			h.cut()
		}
		if h.rng.IntN(3) == 0 {
			h.say("poll%s", pick(h, "", " 1", " 2"))
		}
	}
	return strings.Join(h.lines, "\n")
}

// cut loses some records, perhaps more than any worker has read.
func (h *history) cut() {
	n := h.rng.IntN(pick(h, 2, 6, 30))
	h.say("cut-back %d", n)
	if h.sent > n && h.rng.IntN(2) == 0 {
		h.say("repeat back=1")
	}
	if h.sent = 0; h.rng.IntN(2) == 0 {
		h.open = nil // else one that is open ends behind the cut, or its beginning is lost
	}
}

func (h *history) create() {
	v := h.rng.IntN(3)
	wal := "" // below a tick Milvus would leave it out, and so its rows would have no schema
	if h.next < 3 {
		wal = pick(h, "", " wal")
	}
	h.say("create c%d v=%d%s", h.next, v, wal)
	h.version[h.next] = v
	h.next++
}

// collection is one that lives, or now and then one that was dropped.
func (h *history) collection() (id int64, version int) {
	if len(h.dead) > 0 && h.rng.IntN(5) == 0 || len(h.version) == 0 {
		return pick(h, h.dead...), 0
	}
	for id = 1; ; id++ {
		if v, ok := h.version[id]; ok && (h.rng.IntN(2) == 0 || id >= h.next-1) {
			return id, v
		}
		if id >= h.next {
			id = 0
		}
	}
}

func (h *history) line() {
	c, v := h.collection()
	part := c*10 + 1 + int64(h.rng.IntN(2))
	seg := part*10 + 1 + int64(h.rng.IntN(3)) // a segment has one place
	switch x := h.rng.IntN(100); {
	case x < 28:
		h.rows(c, v, part, seg)
	case x < 36:
		h.say("delete c%d/%d n=%d%s", c, pick(h, part, -1), 1+h.rng.IntN(3), h.extra())
	case x < 42:
		h.say("tick%s", pick(h, "", " wal"))
		h.sent = 0 // what it releases and comes again is another message
	case x < 52:
		h.transaction(c, v, part, seg)
	case x < 56:
		if h.sent > 0 {
			h.say("repeat back=%d", 1+h.rng.IntN(min(3, h.sent)))
		}
	case x < 61:
		h.say("%s", pick(h, fmt.Sprintf("flush c%d/%d s=%d", c, part, seg), "flush-all", fmt.Sprintf("manual-flush c%d s=%d", c, seg), fmt.Sprintf("manual-flush c%d", c)))
	case x < 67:
		h.ddl(c, part)
	case x < 71:
		h.say("bad %s c%d/%d s=%d n=2 v=%d", pick(h, "empty", "garbage", "type", "counts", "columns"), c, part, seg, v)
	case x < 75:
		h.say("%s", pick(h, "skip 3", "control", "alias"))
	case x < 81:
		h.say("clock %s", pick(h, "1s", "20s", "2m", "-5s", "30h"))
	default:
		h.say("%s", pick(h, "wait 50ms", "wait 1s", "wait 3s", "free 1", "free 1000000", "ask-flush", "ask-seal", "seal-first", fmt.Sprintf("ask-seal %d", c), "drain", "restart", "takeover", "rewind", "rewind 1", "rewind 2", "gc", "sweep", "poll"))
	}
}

func (h *history) extra() string {
	if h.wal {
		return pick(h, "", " wal")
	}
	if h.rng.IntN(2) == 0 {
		return ""
	}
	h.sent++
	return fmt.Sprintf(" msg=%d ahead=%d", len(h.lines), pick(h, 5, 30000))
}

func (h *history) rows(c int64, v int, part, seg int64) {
	h.say("insert c%d/%d s=%d n=%d v=%d size=%d%s", c, part, pick(h, 0, seg, seg), pick(h, 1, 1, 1, 3, 0), v, pick(h, 0, 0, 300), h.extra())
}

func (h *history) transaction(c int64, v int, part, seg int64) {
	switch {
	case len(h.open) == 0 || len(h.open) == 1 && h.rng.IntN(3) == 0:
		h.txn++
		h.open = append(h.open, h.txn)
		h.say("begin txn=%d keep=%d", h.txn, pick(h, -1, -1, 10_000))
	case h.rng.IntN(3) > 0:
		t := pick(h, h.open...)
		h.say("%s c%d/%d s=%d v=%d n=%d txn=%d keep=10000", pick(h, "insert", "insert", "delete"), c, part, pick(h, 0, seg), v, 1+h.rng.IntN(2), t)
	default:
		i := h.rng.IntN(len(h.open))
		h.say("%s txn=%d", pick(h, "commit", "commit", "rollback"), h.open[i])
		h.open = append(h.open[:i:i], h.open[i+1:]...)
	}
}

func (h *history) ddl(c, part int64) {
	switch h.rng.IntN(5) {
	case 0:
		h.say("partition c%d/%d", c, part)
	case 1:
		h.say("drop-partition c%d/%d", c, part)
	case 2:
		if len(h.version) > 1 && h.version[c] >= 0 {
			if _, live := h.version[c]; live {
				h.say("drop-collection c%d", c)
				delete(h.version, c)
				h.dead = append(h.dead, c)
			}
		}
	case 3:
		if h.next < 6 {
			h.create()
		}
	default:
		if v, live := h.version[c]; live {
			h.version[c] = v + h.rng.IntN(2)
			h.say("alter c%d v=%d", c, h.version[c])
		}
	}
}

// chance is a plan with a few failures at random calls, the same for the same
// seed and calls.
func chance(seed uint64, most int) plan {
	rate := seed % 4 * 8 // of a thousand calls
	return func(op, name string) kind {
		x := hash(fmt.Sprint(seed, name))
		if most == 0 || x%1000 >= rate {
			return works
		}
		most--
		kinds := kindsOf(op)
		return kinds[x/1000%uint64(len(kinds))]
	}
}

func TestRandomHistories(t *testing.T) { randomHistories(t, *histories, false) }

// A log may lose its end after that was read, at any place, more than once, and
// hold other records there: none of them is taken for stored.
func TestRandomHistoriesOfLogsThatAreCutBack(t *testing.T) { randomHistories(t, *histories/3, true) }

func randomHistories(t *testing.T, histories int, cuts bool) {
	t.Helper()
	rows, failures, lives := int64(0), 0, 0
	for i := range histories {
		n := *seed + uint64(i)
		text := newHistory(n, cuts)
		s, err := parse(fmt.Sprintf("history %d", n), text)
		if err != nil {
			t.Fatal(err)
		}
		w := s.run(t, replays[n%3], chance(n, 6))
		rows, failures, lives = rows+s.last().expect.Rows+s.last().expect.Deletes, failures+w.met, lives+len(w.all)
		if w.failure == "" {
			continue
		}
		t.Fatalf("history %d:\n%s\n\n%s\n%s\nto repeat it:\n  go test ./internal/explore -run '%s$' -args -histories 3 -seed %d",
			n, text, w.text(), w.failure, t.Name(), n)
	}
	t.Logf("%d histories with %d failures and %d lives: %d rows and deletes compared, lost 0, doubled 0", histories, failures, lives, rows)
}
