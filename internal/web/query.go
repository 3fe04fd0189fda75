package web

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"flowgraph/flows"
)

// most is how many segments one answer holds at most.
const most = 5000

// query chooses, sorts and cuts out segments.
type query struct {
	text, vchannel, state, level string
	by                           order // none: by vchannel and position
	descending                   bool
	offset, limit                int
}

// order compares two segments. What it has nothing to compare of comes last,
// ascending or descending.
type order struct {
	compare func(a, b *flows.SegmentStatus) int
	lacks   func(*flows.SegmentStatus) bool // nil: none does
}

// positionOrder puts first what holds the seek position back.
func positionOrder() order {
	return order{
		compare: func(a, b *flows.SegmentStatus) int { return cmp.Compare(*a.Position, *b.Position) },
		lacks:   func(s *flows.SegmentStatus) bool { return s.Position == nil },
	}
}

// orders are what sort may name.
func orders() map[string]order {
	type s = flows.SegmentStatus
	text := func(of func(*s) string) order {
		return order{compare: func(a, b *s) int { return strings.Compare(of(a), of(b)) }}
	}
	number := func(of func(*s) int64) order {
		return order{compare: func(a, b *s) int { return cmp.Compare(of(a), of(b)) }}
	}
	return map[string]order{
		"vchannel":       text(func(s *s) string { return s.VChannel }),
		"collection":     text(func(s *s) string { return s.Collection }),
		"partition":      text(func(s *s) string { return s.Partition }),
		"level":          text(func(s *s) string { return s.Level }),
		"id":             {compare: func(a, b *s) int { return cmp.Or(cmp.Compare(len(a.ID), len(b.ID)), strings.Compare(a.ID, b.ID)) }},
		"state":          number(func(s *s) int64 { return stateOrder(s.State) }),
		"rows":           number(func(s *s) int64 { return s.Rows }),
		"bytes":          number(func(s *s) int64 { return s.Bytes }),
		"buffered_rows":  number(func(s *s) int64 { return s.BufferedRows + s.FlushingRows }),
		"buffered_bytes": number(func(s *s) int64 { return s.BufferedBytes + s.FlushingBytes }),
		"age": {
			compare: func(a, b *s) int { return b.FirstRow.Compare(*a.FirstRow) },
			lacks:   func(s *s) bool { return s.FirstRow == nil },
		},
		"last_flush": {
			compare: func(a, b *s) int { return a.LastFlush.At.Compare(b.LastFlush.At) },
			lacks:   func(s *s) bool { return s.LastFlush == nil },
		},
		"position": positionOrder(),
	}
}

func stateOrder(state string) int64 { return int64(strings.Index("new normal flushed dropped", state)) }

// parseQuery reads q, vchannel, state, level, sort, desc, offset and limit.
func parseQuery(v url.Values) (query, error) {
	q := query{
		text: strings.ToLower(v.Get("q")), vchannel: v.Get("vchannel"), state: v.Get("state"), level: v.Get("level"),
		descending: v.Get("desc") == "1" || v.Get("desc") == "true",
	}
	all := orders()
	by, known := all[v.Get("sort")]
	if !known && v.Get("sort") != "" {
		return q, fmt.Errorf("sort=%q is not one of %s", v.Get("sort"), strings.Join(slices.Sorted(maps.Keys(all)), " "))
	}
	q.by = by
	var err error
	if q.offset, err = number(v, "offset", 0); err != nil {
		return q, err
	}
	q.limit, err = number(v, "limit", 100)
	q.limit = min(q.limit, most)
	return q, err
}

// of returns the segments asked for, and how many match in all.
func (q query) of(all []flows.SegmentStatus) ([]*flows.SegmentStatus, int) {
	out := []*flows.SegmentStatus{}
	for i := range all {
		if q.matches(&all[i]) {
			out = append(out, &all[i])
		}
	}
	if q.by.compare != nil {
		slices.SortStableFunc(out, q.compare) // what compares equal stays by vchannel and position
	}
	matched := len(out)
	from := min(q.offset, matched)
	return out[from:min(from+q.limit, matched)], matched
}

// matches wants every word of the text somewhere in the segment's own.
func (q query) matches(s *flows.SegmentStatus) bool {
	if q.vchannel != "" && q.vchannel != s.VChannel || q.state != "" && q.state != s.State || q.level != "" && q.level != s.Level {
		return false
	}
	if q.text == "" {
		return true
	}
	reason := ""
	if s.LastFlush != nil {
		reason = s.LastFlush.Reason
	}
	line := strings.ToLower(strings.Join([]string{s.VChannel, s.ID, s.Collection, s.CollectionID, s.Partition, s.Level, s.State, reason}, " "))
	for _, word := range strings.Fields(q.text) {
		if !strings.Contains(line, word) {
			return false
		}
	}
	return true
}

func (q query) compare(a, b *flows.SegmentStatus) int {
	if q.by.lacks != nil {
		if x, y := q.by.lacks(a), q.by.lacks(b); x || y {
			switch {
			case x && y:
				return 0
			case x:
				return 1
			}
			return -1
		}
	}
	if q.descending {
		a, b = b, a
	}
	return q.by.compare(a, b)
}
