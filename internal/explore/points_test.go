package explore

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// point is one failure of one call of a script.
type point struct {
	script *script
	call   call
	kind   kind
}

func (p point) String() string { return fmt.Sprintf("%s: %s: %s", p.script.name, p.call.name, p.kind) }

func (p point) command() string {
	return fmt.Sprintf("go test ./internal/explore -run TestEveryCallFails -args -script %s -call '%s' -kind %s", p.script.name, p.call.name, p.kind)
}

// pointsOf are all failures of all calls that a script makes, in the order in
// which it makes them.
func pointsOf(w *world) []point {
	calls := slices.Clone(w.seen)
	slices.SortFunc(calls, func(a, b call) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.name, b.name)) })
	var points []point
	for _, c := range calls {
		for _, k := range kindsOf(c.op) {
			points = append(points, point{w.whole, c, k})
		}
	}
	return points
}

// asked is the point that the command line names.
func asked(s *script, name, k string) []point {
	c := call{name: name}
	if words := strings.Fields(name); len(words) > 2 { // life N op key
		c.op = words[2]
	}
	var points []point
	for _, have := range kindsOf(c.op) {
		if k == "" || k == string(have) {
			points = append(points, point{s, c, have})
		}
	}
	return points
}

// once is a plan with one failure.
func (p point) once() plan {
	return func(_, name string) kind {
		if name == p.call.name {
			return p.kind
		}
		return works
	}
}

// replays are the batches in which a life after a failure reads what others
// read before.
var replays = []int{1 << 30, 1, 3}

// replay is the point's own, so that each kind of call meets each of them.
func (p point) replay() int {
	return replays[hash(p.call.name+string(p.kind))%uint64(len(replays))]
}
