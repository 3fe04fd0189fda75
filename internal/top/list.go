package top

import (
	"fmt"
	"slices"
	"strings"
)

// channels is the list: a title and lines around the one that is selected.
func (v *view) channels(width, height int) []line {
	list := v.list()
	all := 0
	for i := range v.sights {
		all += len(v.sights[i].channels)
	}
	number := count(int64(all))
	if len(list) < all {
		number = count(int64(len(list))) + " of " + number
	}
	title := say(strong, "VCHANNELS ").and(plain, number).and(dim, " by "+v.order.String())
	if v.typing || v.filter != "" {
		title = title.and(plain, "  /"+clean(v.filter))
		if v.typing {
			title = title.and(chosen, " ")
		}
	}
	out := []line{title}
	if len(list) == 0 {
		return append(out, say(dim, v.none(all)))
	}
	rows := min(len(list), max(1, height-1))
	at := max(0, slices.IndexFunc(list, func(c channel) bool { return c.place() == v.selected }))
	first := min(max(0, at-rows/2), len(list)-rows)
	name := 0
	for _, c := range list[first : first+rows] {
		name = max(name, cells(clean(c.VChannel)))
	}
	for _, c := range list[first : first+rows] {
		out = append(out, v.channel(c, width, min(name, width-20)))
	}
	return out
}

// none says why the list is empty.
func (v *view) none(all int) string {
	switch {
	case all > 0:
		return "no vchannel has these words; Esc clears the filter"
	case !v.ready():
		return "asking"
	}
	if !v.known() {
		return "not known: no worker has answered"
	}
	return "no partition is assigned yet"
}

// channel is one line: name, lag or state, and how much of the log is stored
// and read.
func (v *view) channel(c channel, width, name int) line {
	text, m := "no lag", plain
	switch {
	case c.State != "running":
		text, m = clean(c.State), warn
		if c.State == "stopped" {
			m = bad
		} else if c.State == "done" {
			m = good
		}
	case c.Stuck:
		text, m = "stuck", warn
	case c.Lag > 0:
		text = "lag " + count(c.Lag)
	}
	var l line
	if len(v.sights) > 1 {
		l, name = say(dim, fmt.Sprintf("%d ", c.worker.worker+1)), name-2
	}
	l = l.and(plain, padded(clean(c.VChannel), name)+" ").and(m, padded(text, 15)+" ")
	if left := width - l.width() - 2; left >= 8 {
		l = append(l, c.track(min(left, 40))...)
	}
	head := say(plain, "  ")
	if c.place() == v.selected {
		head = say(strong, "> ")
		for i := range l {
			if l[i].mark == plain || l[i].mark == dim {
				l[i].mark = chosen
			}
		}
	}
	return append(head, l...)
}

// track shows the whole log: stored, read, still to be read.
func (c channel) track(width int) line {
	whole := c.LogEnd - c.LogStart
	if c.Epoch == 0 || width <= 0 {
		return nil
	}
	at := func(offset int64) int {
		if whole <= 0 {
			return width
		}
		return min(width, max(0, int(float64(offset-c.LogStart)/float64(whole)*float64(width))))
	}
	stored, read := at(c.Seek), at(max(c.Read, c.Seek))
	if read == stored && c.Read > c.Seek && stored > 0 {
		stored--
	}
	return say(persistedMark, strings.Repeat("█", stored)).and(bufferedMark, strings.Repeat("░", read-stored)).
		and(dim, strings.Repeat("·", width-read))
}
