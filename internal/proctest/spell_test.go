//go:build unix

package proctest

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// spell is a time during which one line is bad in one way.
type spell struct {
	line   *line
	kind   string
	toxics []toxic // none: the line is cut
	lasts  time.Duration
}

func (s spell) String() string {
	return fmt.Sprintf("%s %s for %s", s.line.name, s.kind, s.lasts.Round(time.Millisecond))
}

// kinds are the ways in which a line can be bad.
var kinds = map[string]func(r *rand.Rand) []toxic{
	"cut": func(*rand.Rand) []toxic { return nil },
	"slow to answer": func(r *rand.Rand) []toxic {
		return both(r, "latency", map[string]int64{"latency": 10 + r.Int64N(150), "jitter": 1 + r.Int64N(100)})
	},
	"half-open": func(r *rand.Rand) []toxic { return either(r, "timeout", map[string]int64{"timeout": 0}) },
	"half-open, then closed": func(r *rand.Rand) []toxic {
		return either(r, "timeout", map[string]int64{"timeout": 1 + r.Int64N(400)})
	},
	"reset": func(r *rand.Rand) []toxic { return either(r, "reset_peer", map[string]int64{"timeout": r.Int64N(100)}) },
	"slow to close": func(r *rand.Rand) []toxic {
		return both(r, "slow_close", map[string]int64{"delay": 100 + r.Int64N(900)})
	},
	"narrow": func(r *rand.Rand) []toxic { return both(r, "bandwidth", map[string]int64{"rate": 4 + r.Int64N(60)}) },
	"ends in the middle": func(r *rand.Rand) []toxic {
		return either(r, "limit_data", map[string]int64{"bytes": r.Int64N(30_000)})
	},
	"in small pieces": func(r *rand.Rand) []toxic {
		return both(r, "slicer", map[string]int64{"average_size": 64 + r.Int64N(500), "size_variation": 32, "delay": r.Int64N(200)})
	},
}

var streams = []string{"upstream", "downstream"}

// either is a toxic of one direction, of all or half of the connections.
func either(r *rand.Rand, kind string, attributes map[string]int64) []toxic {
	share := float32(1)
	if r.IntN(2) == 0 {
		share = 0.5
	}
	return []toxic{{Type: kind, Stream: streams[r.IntN(2)], Toxicity: share, Attributes: attributes}}
}

// both is one of both directions of all connections.
func both(_ *rand.Rand, kind string, attributes map[string]int64) []toxic {
	var all []toxic
	for _, s := range streams {
		all = append(all, toxic{Type: kind, Stream: s, Toxicity: 1, Attributes: attributes})
	}
	return all
}

// begin spoils the line; end makes it good again.
func (s spell) begin() {
	if len(s.toxics) == 0 {
		s.line.cut()
	}
	for _, x := range s.toxics {
		s.line.poison(x)
	}
}

func (s spell) end() {
	if len(s.toxics) == 0 {
		s.line.mend()
		return
	}
	s.line.cure()
}
