package top

import (
	"fmt"

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
	most := max(1, height-2)
	first := min(v.scroll, max(0, len(one.Segments)-most))
	last := min(len(one.Segments), first+most)
	if first > 0 || last < one.Total {
		title = title.and(dim, fmt.Sprintf("  %d to %d, PgUp and PgDn scroll", first+1, last))
	}
	heads, rows := table(s, one.Segments[first:last], first, width)
	out := []line{title, say(dim, heads)}
	for i, text := range rows {
		m := plain
		if one.Segments[first+i].Pins {
			m = strong
		}
		out = append(out, say(m, text))
	}
	return out
}

// table lays segments out, of which the first has this number, in as many
// columns as there is room for.
func table(s *sight, list []*flows.SegmentStatus, first, width int) (heads string, rows []string) {
	text := make([]string, len(list)+1) // the first is the heads
	used := 0
	for _, c := range columns(s) {
		texts, wide := []string{c.title}, cells(c.title)
		for i, g := range list {
			cell := clean(c.text(first+i, g))
			texts, wide = append(texts, cell), max(wide, cells(cell))
		}
		if used+wide > width {
			break
		}
		used += wide + 2
		pad := padded
		if c.right {
			pad = right
		}
		for i, cell := range texts {
			text[i] += pad(cell, wide) + "  "
		}
	}
	return text[0], text[1:]
}
