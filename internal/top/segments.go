package top

import (
	"fmt"
	"strings"

	"flowgraph/flows"
)

// column is one of the table of segments.
type column struct {
	title string
	right bool
	text  func(i int, g *flows.SegmentStatus) string
}

// columns are in the order of what one wants to see most: a narrow window
// leaves out the last ones.
func columns(s *sight) []column {
	return []column{
		{"", false, func(i int, g *flows.SegmentStatus) string {
			if g.Position == nil {
				return ""
			}
			return fmt.Sprintf("p%d", i+1)
		}},
		{"SEGMENT", true, func(_ int, g *flows.SegmentStatus) string { return g.ID }},
		{"STATE", false, func(_ int, g *flows.SegmentStatus) string { return g.Level + " " + g.State }},
		{"ROWS", true, func(_ int, g *flows.SegmentStatus) string { return count(g.Rows) }},
		{"ON ITS WAY", true, func(_ int, g *flows.SegmentStatus) string { return orDash(g.FlushingRows) }},
		{"BUFFERED", true, func(_ int, g *flows.SegmentStatus) string { return orDash(g.BufferedRows) }},
		{"BYTES", true, func(_ int, g *flows.SegmentStatus) string { return size(g.Bytes) }},
		{"COLLECTION/PARTITION", false, func(_ int, g *flows.SegmentStatus) string { return clip(g.Collection+"/"+g.Partition, 40) }},
		{"RANGE", false, func(_ int, g *flows.SegmentStatus) string {
			if g.Start == nil || g.PersistedEnd == nil {
				return "-"
			}
			return fmt.Sprintf("[%s, %s)", count(*g.Start), count(*g.PersistedEnd))
		}},
		{"LAST FLUSH", false, func(_ int, g *flows.SegmentStatus) string {
			if g.LastFlush == nil {
				return "-"
			}
			return lasting(s.now().Sub(g.LastFlush.At)) + " ago, " + g.LastFlush.Reason
		}},
	}
}

func orDash(n int64) string {
	if n == 0 {
		return "-"
	}
	return count(n)
}

// segments is the table of the selected vchannel's segments.
func (v *view) segments(width, height int) []line {
	s, one := v.one()
	if one == nil {
		return nil
	}
	title := say(strong, "SEGMENTS ").and(plain, count(int64(one.Total)))
	if len(one.Segments) == 0 {
		return []line{title}
	}
	rows := max(1, height-2)
	first := min(v.scroll, max(0, len(one.Segments)-rows))
	last := min(len(one.Segments), first+rows)
	if first > 0 || last < one.Total {
		title = title.and(dim, fmt.Sprintf("  %d to %d, PgUp and PgDn scroll", first+1, last))
	}
	out := []line{title, nil}
	table := make([]strings.Builder, last-first+1) // the first is the heads
	used := 0
	for _, c := range columns(s) {
		texts, wide := []string{c.title}, cells(c.title)
		for i := first; i < last; i++ {
			text := clean(c.text(i, one.Segments[i]))
			texts, wide = append(texts, text), max(wide, cells(text))
		}
		if used+wide > width {
			break
		}
		used += wide + 2
		for i, text := range texts {
			if c.right {
				table[i].WriteString(right(text, wide) + "  ")
			} else {
				table[i].WriteString(padded(text, wide) + "  ")
			}
		}
	}
	out[1] = say(dim, table[0].String())
	for i := range table[1:] {
		m := plain
		if one.Segments[first+i].Pins {
			m = strong
		}
		out = append(out, say(m, table[i+1].String()))
	}
	return out
}
