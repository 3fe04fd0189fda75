package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"flowgraph/flows"
)

// happening is an event with the worker that told it.
type happening struct {
	worker int
	*flows.Event
}

// news are the newest events of what is looked at, newest first.
func (v *view) news(limit int) []happening {
	var out []happening
	for i := range v.sights {
		s := &v.sights[i]
		for j := range s.events {
			e := &s.events[j]
			if v.all || s.worker == v.selected.worker && e.VChannel == v.selected.vchannel {
				out = append(out, happening{s.worker, e})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b happening) int { return b.At.Compare(a.At) })
	return out[:min(len(out), limit)]
}

// happened is the list of events, a line each.
func (v *view) happened(width, height int) []line {
	of := " of this vchannel"
	if v.all {
		of = " of all vchannels"
	}
	out := []line{say(strong, "EVENTS").and(dim, of)}
	list := v.news(max(1, height-1))
	for _, e := range list {
		text, m := e.what()
		if v.all {
			text += " · " + e.VChannel
		}
		out = append(out, say(dim, clock(e.At)+" ").and(m, clip(clean(text), max(10, width-9))))
	}
	switch {
	case len(list) == 0 && !v.known():
		out = append(out, say(dim, "not known"))
	case len(list) == 0:
		out = append(out, say(dim, "nothing yet"))
	}
	return out
}

// what tells an event in a line.
func (e *happening) what() (string, mark) {
	m := plain
	switch e.Kind {
	case "stopped":
		m = bad
	case "waiting", "quarantine":
		m = warn
	}
	titles := map[string]string{"running": "claimed", "done": "drained", "waiting": "failed, tries again", "quarantine": "bad record", "seal": "sealed"}
	parts := []string{cmp.Or(titles[e.Kind], strings.ReplaceAll(e.Kind, "_", " "))}
	if e.Collection != "" {
		name := e.Collection
		if e.Partition != "" {
			name += "/" + e.Partition
		}
		parts[0] += " " + name
	}
	if e.Rows > 0 {
		what := "row"
		if e.Level == "L0" {
			what = "delete"
		}
		parts = append(parts, plural(int(e.Rows), what), size(e.Bytes))
	}
	if e.Error != "" {
		parts[0] += ": " + e.Error
	}
	if e.Reason != "" {
		parts = append(parts, e.Reason)
	}
	if e.TookMS > 0 {
		parts = append(parts, fmt.Sprintf("%d ms", e.TookMS))
	}
	if e.Offset != nil {
		at := "at "
		if e.Kind == "flush" || e.Kind == "seal" {
			at = "up to "
		}
		parts = append(parts, at+count(*e.Offset))
	}
	return strings.Join(parts, " · "), m
}
