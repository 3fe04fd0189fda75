package top

// wide is from how many cells on list and events stand beside figure and
// segments.
const wide = 130

// frame is all that the terminal shows: as many lines as it has, of its width.
func (v *view) frame(width, height int) []line {
	if v.help {
		return fitted(help(), width, height)
	}
	out := append(v.header(width), v.troubles(width, max(3, height/5))...)
	foot := v.foot(width)
	body := height - len(out) - len(foot)
	if width >= wide {
		out = append(out, v.beside(width, body)...)
	} else {
		out = append(out, v.stacked(width, body)...)
	}
	return append(fitted(out, width, height-len(foot)), fitted(foot, width, len(foot))...)
}

// stacked is list, figure, and segments or events below one another; both if
// there is room.
func (v *view) stacked(width, height int) []line {
	list := max(1, min(len(v.list()), max(2, height/5))) + 1
	out := fitted(v.channels(width, list), width, list)
	figure := v.figure(width, max(11, (height-list)*2/3))
	out = append(out, fitted(figure, width, len(figure))...)
	low := max(2, height-len(out))
	if low >= 16 {
		table := v.segments(width, low/2)
		out = append(append(out, nil), fitted(table, width, len(table))...)
		return append(append(out, nil), v.happened(width, height-len(out)-1)...)
	}
	if v.events {
		return append(out, v.happened(width, low)...)
	}
	return append(out, v.segments(width, low)...)
}

// beside is list and events on the left, figure and segments on the right.
func (v *view) beside(width, height int) []line {
	left := width / 3
	list := max(3, min(len(v.list())+1, height/2))
	one := append(fitted(v.channels(left-2, list), left-2, list+1), v.happened(left-2, height-list-1)...)
	figure := v.figure(width-left, height*3/5)
	other := append(append(figure, nil), v.segments(width-left, height-len(figure)-1)...)
	one, other = fitted(one, left-2, height), fitted(other, width-left, height)
	for i := range one {
		one[i] = append(one[i].and(plain, "  "), other[i]...)
	}
	return one
}

// fitted makes a block exactly so large.
func fitted(block []line, width, height int) []line {
	out := make([]line, 0, max(0, height))
	for i := range max(0, height) {
		if i < len(block) {
			out = append(out, block[i].fit(width))
		} else {
			out = append(out, line(nil).fit(width))
		}
	}
	return out
}

// foot says what the keys do, or what there is to say.
func (v *view) foot(width int) []line {
	if v.notice != "" {
		var out []line
		for _, l := range wrapped(clean(v.notice), width) {
			out = append(out, say(warn, l))
		}
		return out
	}
	return []line{v.keysLine()}
}

func (v *view) keysLine() line {
	if v.doubt != nil {
		return say(warn, "pause the reading of "+clean(v.doubt.vchannel)+"? y: yes; any other key: no")
	}
	if v.typing {
		return say(dim, "type words that names or states must have; Enter keeps them, Esc clears them")
	}
	return say(dim, "q quit  ? help  arrows select  / filter  s sort  z zoom  Tab segments/events  a all events  f flush  p pause")
}

func help() []line {
	return []line{
		say(strong, "flowgraph top"),
		nil,
		say(plain, "Up, Down, k, j       select a vchannel; Home and End the first and last"),
		say(plain, "/                    list only vchannels whose name, state or worker has these words"),
		say(plain, "s                    list by trouble, lag, buffered bytes or name"),
		say(plain, "z                    the axis from the log's start, or from where reading would begin again"),
		say(plain, "PgUp, PgDn           scroll the segments"),
		say(plain, "Tab                  segments or events, where there is no room for both"),
		say(plain, "a                    events of this vchannel, or of all"),
		say(plain, "f                    flush: write what is buffered of the selected vchannel"),
		say(plain, "p, r                 pause its reading (asks first), and go on; the worker must allow it"),
		say(plain, "q, Ctrl-C            quit"),
		nil,
		say(plain, "The axis is the log of one vchannel. On it: ").and(persistedMark, "━").and(plain, " stored, ").and(persistedMark, "╍").
			and(plain, " stored and read again after a restart,"),
		say(bufferedMark, "─").and(plain, " read and not stored yet, ").and(dim, "·").and(plain, " not read yet. Left of ≈ it is compressed."),
		say(plain, "A bar is a segment: ").and(persistedMark, string(persistedCell)).and(plain, " persisted, ").and(flyingMark, string(flyingCell)).
			and(plain, " on its way to the store, ").and(bufferedMark, string(bufferedCell)).and(plain, " buffered in memory."),
		say(plain, "p1, p2, ... are the first rows that are not persisted; p1 holds the seek position back: it is from"),
		say(plain, "there that nothing may be lost in Kafka yet."),
		nil,
		say(dim, "any key goes back"),
	}
}
