package top

import (
	"fmt"

	"flowgraph/flows"
	"flowgraph/internal/web"
)

// The cells of bars; they differ where there are no colours.
const (
	persistedCell = '█'
	flyingCell    = '»'
	bufferedCell  = '░'
	seekCell      = '│'
)

// one is what is known of the vchannel that is selected: while its figure is
// on the way, what the list says of it.
func (v *view) one() (*sight, *web.OneVChannel) {
	for i := range v.sights {
		s := &v.sights[i]
		if s.worker != v.selected.worker {
			continue
		}
		if s.one != nil && s.one.VChannel.VChannel == v.selected.vchannel {
			return s, s.one
		}
		for j := range s.channels {
			if s.channels[j].VChannel == v.selected.vchannel {
				return s, &web.OneVChannel{At: s.now(), VChannel: &s.channels[j]}
			}
		}
	}
	return nil, nil
}

// figure shows the selected vchannel's log from its start to its end, and of
// each open segment what is persisted, on its way and buffered.
func (v *view) figure(width, height int) []line {
	s, one := v.one()
	if one == nil {
		return nil
	}
	c := one.VChannel
	m := good
	if c.State == "stopped" {
		m = bad
	} else if c.State != "running" && c.State != "done" {
		m = warn
	}
	title := say(strong, clean(c.VChannel)+" ").and(m, clean(c.State))
	if c.Epoch == 0 {
		return []line{title, say(dim, "It is being claimed: its checkpoint is loaded from the bucket.")}
	}
	if width >= 100 {
		title = title.and(dim, "  epoch ").and(plain, count(c.Epoch))
	}
	title = title.and(dim, "  lag ").and(plain, count(c.Lag)).and(dim, "  complete up to ")
	if c.SeekTime.IsZero() {
		title = title.and(plain, "no time tick yet")
	} else {
		title = title.and(plain, clock(c.SeekTime))
		if c.Lag > 0 {
			title = title.and(plain, ", "+lasting(s.now().Sub(c.SeekTime))+" ago")
		}
	}
	out := []line{title}
	words := v.says(s, one)
	if c.Pause != nil {
		words = "Reading is paused since " + clock(c.Pause.Since) + ", as asked from " + c.Pause.By + "; r goes on. " + words
	}
	for _, l := range wrapped(clean(words), width) {
		out = append(out, say(plain, l))
	}
	label := min(44, max(22, width*3/10))
	scale := newScale(c, v.tail, width-label)
	out = append(out, axis(c, scale, label)...)
	return append(out, v.bars(one, scale, label, height-len(out))...)
}

// says tells in words what the figure shows.
func (v *view) says(s *sight, one *web.OneVChannel) string {
	c := one.VChannel
	seek := "seek position " + count(c.Seek)
	if c.Held == nil {
		return "Everything that was read is stored: the " + seek + " is where reading stands."
	}
	switch c.Held.By {
	case "error":
		return "Nothing is read: this vchannel is " + c.State + " at offset " + count(c.Read) + ". Up to the " + seek + " everything is stored; the rest is read again."
	case "commit":
		return "The " + seek + " is about to move: everything before it is stored, the next commit says so."
	}
	text := "The " + seek + " is held back by p1: "
	for i := range one.Segments {
		g := one.Segments[i]
		if g.ID != c.Held.Segment {
			continue
		}
		text += g.Collection + "/" + g.Partition + ", segment " + g.ID
		if c.Held.By == "flush" {
			return text + ", whose flush is on its way to the store."
		}
		text += ", whose first row that is not persisted lies there"
		if g.BufferedSince != nil {
			text += ", buffered for " + lasting(s.now().Sub(*g.BufferedSince))
		}
		return text + "."
	}
	return text + "segment " + c.Held.Segment + "."
}

// axis is the log: round offsets, the rail, and what stands where.
func axis(c *flows.FlowStatus, s scale, label int) []line {
	numbers := newCanvas(s.width, ' ', dim)
	for _, t := range s.ticks(14) {
		numbers.write(min(s.cell(t), s.width-len(count(t))), count(t), dim)
	}
	rail := newCanvas(s.width, ' ', dim)
	rail.span(s, c.Read, c.LogEnd, '·', dim)
	rail.span(s, c.LogStart, c.ReadFrom, '━', persistedMark)
	rail.span(s, c.ReadFrom, c.Seek, '╍', persistedMark)
	rail.span(s, c.Seek, c.Read, '─', bufferedMark)
	if s.at > 0 {
		rail.fill(s.at, s.at+1, '≈', dim)
	}
	seek := s.cell(c.Seek)
	rail.fill(seek, seek+1, '┼', seekMark)
	out := []line{
		append(say(dim, padded(fmt.Sprintf("log %s to %s", count(c.LogStart), count(c.LogEnd)), label)), numbers.line()...),
		append(say(plain, padded("", label)), rail.line()...),
	}
	for _, f := range flagLines(c, s) {
		out = append(out, append(say(plain, padded("", label)), f.line()...))
	}
	return out
}

// flagLines name the positions below the rail, in as many lines as it takes.
func flagLines(c *flows.FlowStatus, s scale) []canvas {
	read := "read "
	m := plain
	switch c.State {
	case "running", "done":
	case "paused":
		read, m = "paused at ", warn
	default:
		read, m = c.State+" at ", bad
	}
	type flag struct {
		at   int64
		text string
		mark mark
	}
	flags := []flag{{c.Seek, "seek position " + count(c.Seek), seekMark}, {c.Read, clean(read) + count(c.Read), m}}
	if c.ReadFrom != c.Seek {
		flags = append(flags, flag{c.ReadFrom, "read from " + count(c.ReadFrom), dim})
	}
	lanes := []canvas{newCanvas(s.width, ' ', plain), newCanvas(s.width, ' ', plain), newCanvas(s.width, ' ', plain)}
	for _, f := range flags {
		if s.x(f.at) < 0 {
			continue
		}
		x, text := s.cell(f.at), "^ "+f.text
		if wide := len([]rune(text)); x+wide > s.width || f.mark == dim && x+1 >= wide { // its foot stands on the right then
			text, x = f.text+" ^", x+1-wide
		}
		for _, l := range lanes {
			if l.write(x, text, f.mark) {
				break
			}
		}
	}
	for len(lanes) > 1 && lanes[len(lanes)-1].blank() {
		lanes = lanes[:len(lanes)-1]
	}
	return lanes
}

// bars are a line a segment, the one that holds the seek position back first,
// and what the cells mean.
func (v *view) bars(one *web.OneVChannel, s scale, label, height int) []line {
	var out []line
	open := one.Segments
	for i := range open {
		if left := one.Total - i; len(out) >= height-2 && left > 1 {
			out = append(out, say(dim, fmt.Sprintf("and %s more", plural(left, "segment"))))
			break
		}
		out = append(out, bar(open[i], one.VChannel, s, label, i+1))
	}
	if len(open) == 0 {
		return append(out, say(dim, "no open segment"))
	}
	return append(out, say(plain, padded("", label)).and(persistedMark, string(persistedCell)).and(dim, " persisted  ").
		and(flyingMark, string(flyingCell)).and(dim, " on its way  ").and(bufferedMark, string(bufferedCell)).and(dim, " buffered  ").
		and(seekMark, string(seekCell)).and(dim, " seek position"))
}

func bar(g *flows.SegmentStatus, c *flows.FlowStatus, s scale, label, p int) line {
	lane := newCanvas(s.width, ' ', plain)
	start := orElse(g.Start, orElse(g.Position, c.LogStart))
	end := max(start, orElse(g.PersistedEnd, start), orElse(g.FlushingEnd, start), orElse(g.BufferedEnd, start))
	lane.span(s, start, end, '·', dim)
	seek := s.cell(c.Seek)
	lane.fill(seek, seek+1, seekCell, seekMark)
	lane.span(s, start, orElse(g.PersistedEnd, start), persistedCell, persistedMark)
	buffered := g.Position
	if g.FlushingRows > 0 {
		lane.span(s, orElse(g.Position, end), orElse(g.FlushingEnd, 0), flyingCell, flyingMark)
		buffered = g.FlushingEnd
	}
	if g.BufferedRows > 0 {
		lane.span(s, orElse(buffered, end), orElse(g.BufferedEnd, 0), bufferedCell, bufferedMark)
	}
	name, m := "", plain
	if g.Position != nil {
		name = fmt.Sprintf("p%d ", p)
	}
	if g.Pins {
		m = strong
	}
	what := " rows"
	if g.Level == "L0" {
		what = " deletes"
	}
	return append(say(m, padded(padded(name, 4)+clip(clean(g.Collection+"/"+g.Partition), max(6, label-5-len(what)))+what, label-1)+" "), lane.line()...)
}

func orElse[T any](value *T, otherwise T) T {
	if value == nil {
		return otherwise
	}
	return *value
}
