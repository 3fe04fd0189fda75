package top

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"flowgraph/internal/webclient"
)

// header tells how each worker is: three lines of one, one line of each of
// several.
func (v *view) header(width int) []line {
	if len(v.sights) > 1 {
		return v.roll()
	}
	s := &v.sights[0]
	text, m := s.phase()
	out := []line{say(strong, "flowgraph top").and(plain, "  "+clean(s.address)+"  ").and(m, text)}
	if !s.answered {
		return out
	}
	out[0] = out[0].and(dim, fmt.Sprintf("  up %s, as of %s", lasting(s.now().Sub(s.state.Worker.Started)), clock(s.now())))
	w, t := s.state.Worker, s.state.Totals
	facts := say(dim, "lag ").and(plain, count(t.Lag)+" records").and(dim, "  segments ").and(plain, count(int64(t.Segments))).
		and(dim, "  buffered ").and(plain, size(t.Buffered))
	if t.Flushing > 0 {
		facts = facts.and(dim, "  on its way ").and(plain, size(t.Flushing))
	}
	facts = facts.and(dim, "  memory ").and(plain, size(w.MemoryUsed)+" of "+size(w.MemoryBudget)+" ")
	out = append(out, append(facts, meter(w.MemoryUsed, w.MemoryBudget, min(12, width-facts.width()))...))
	kafka := strings.Join(w.Kafka.Brokers, ", ")
	if w.Kafka.Group != "" {
		kafka += ", group " + w.Kafka.Group
	}
	return append(out, say(dim, "Kafka ").and(plain, clean(kafka)).and(dim, "  store ").and(plain, clean(s.state.Store.Name)))
}

// roll is the header of several workers.
func (v *view) roll() []line {
	wide := 0
	for i := range v.sights {
		wide = max(wide, cells(clean(v.sights[i].address)))
	}
	out := []line{say(strong, fmt.Sprintf("flowgraph top  %d workers", len(v.sights)))}
	for i := range v.sights {
		s := &v.sights[i]
		text, m := s.phase()
		l := say(plain, padded(clean(s.address), wide)+"  ").and(m, padded(text, 12))
		if s.answered {
			w, t := s.state.Worker, s.state.Totals
			l = l.and(plain, fmt.Sprintf("%14s  lag %s  buffered %s  memory %s of %s", plural(len(s.channels), "vchannel"),
				count(t.Lag), size(t.Buffered), size(w.MemoryUsed), size(w.MemoryBudget)))
		}
		out = append(out, l)
	}
	return out
}

// phase is the state of a worker in a word or two.
func (s *sight) phase() (string, mark) {
	states := s.state.Totals.VChannels
	waiting := states["waiting"] + states["claiming"]
	switch {
	case s.err != nil:
		return "no answer", bad
	case !s.answered:
		return "asking", dim
	case states["stopped"] > 0:
		return fmt.Sprintf("%d stopped", states["stopped"]), bad
	case s.state.Worker.Error != "":
		return "cannot start", bad
	case s.state.Worker.Phase != "running":
		return clean(s.state.Worker.Phase), warn
	case waiting > 0:
		return fmt.Sprintf("%d waiting", waiting), warn
	case states["paused"] > 0:
		return fmt.Sprintf("%d paused", states["paused"]), warn
	case s.state.Store.Waiting > 0:
		return "waits for the store", warn
	case s.state.Worker.Kafka.Error != "":
		if s.state.Worker.Kafka.Since == nil {
			return "nothing to read", warn
		}
		return "no Kafka", warn
	}
	return "running", good
}

// meter is a bar of how much of a whole is used.
func meter(used, whole int64, width int) line {
	if width < 4 || whole <= 0 {
		return nil
	}
	full := int(min(int64(width), (used*int64(width)+whole-1)/whole))
	m := persistedMark
	if used > whole/4*3 {
		m = warn
	}
	return say(m, strings.Repeat("█", full)).and(dim, strings.Repeat("·", width-full))
}

// problem is something that needs somebody, or that passes by itself.
type problem struct {
	bad           bool
	title         string
	since         time.Time
	error, advice string
	more          string
}

// problems of a worker, the worst first.
func (s *sight) problems() []problem {
	var out []problem
	switch {
	case errors.Is(s.err, webclient.ErrToken):
		out = append(out, problem{bad: true, title: "The worker refuses to answer", since: s.gone, error: s.err.Error(), advice: "give its --listen-token as --token."})
	case s.err != nil:
		out = append(out, problem{bad: true, title: "The worker does not answer", since: s.gone, error: s.err.Error(),
			advice: "if it has ended, its log says why in the last line. This view goes on by itself once it is back. Rows that it held are read again from the bucket's positions."})
	}
	w, st := s.state.Worker, s.state.Store
	if w.Error != "" {
		p := problem{bad: true, title: "The worker cannot start", error: w.Error, advice: w.Advice}
		if w.Since != nil {
			p.since = *w.Since
		}
		out = append(out, p)
	}
	if w.Kafka.Error != "" {
		p := problem{title: "There is nothing to read", error: w.Kafka.Error, advice: w.Kafka.Advice}
		if w.Kafka.Since != nil {
			p.title, p.since = "Kafka does not let this worker read", *w.Kafka.Since
		}
		out = append(out, p)
	}
	if st.Waiting > 0 {
		p := problem{title: waits(st.Waiting) + " for the object store " + st.Name, error: st.Error, advice: st.Advice}
		if st.Since != nil {
			p.since = *st.Since
		}
		out = append(out, p)
	}
	if w.Paused {
		out = append(out, problem{title: "Reading pauses: the memory budget is used up",
			advice: "it passes by itself; if it does not, look at the store, or raise --memory-budget."})
	}
	out = append(out, s.ailing()...)
	slices.SortStableFunc(out, func(a, b problem) int {
		switch {
		case a.bad == b.bad:
			return 0
		case a.bad:
			return -1
		}
		return 1
	})
	return out
}

// ailing are the problems of vchannels; those of many with one cause are one.
func (s *sight) ailing() []problem {
	var out []problem
	at := map[string]int{}
	names := map[string][]string{}
	for i := range s.channels {
		c := &s.channels[i]
		if c.Error == "" && !c.Stuck {
			continue
		}
		key := c.State + "\n" + c.Advice
		if c.Advice == "" && !c.Stuck {
			key += c.Error
		}
		if _, known := at[key]; !known {
			p := problem{bad: c.State == "stopped", since: c.Since, error: c.Error, advice: c.Advice}
			if c.State == "running" {
				p.since = c.Stalled
			}
			p.title = map[string]string{"stopped": "stopped: it waits for you", "waiting": "trying again by itself", "running": "stuck"}[c.State]
			at[key] = len(out)
			out = append(out, p)
		}
		names[key] = append(names[key], c.VChannel)
	}
	for key, i := range at {
		who := names[key][0] + " is "
		if n := len(names[key]); n > 1 {
			who = fmt.Sprintf("%d vchannels are ", n)
			out[i].more = strings.Join(names[key][:min(n, 8)], ", ")
		}
		out[i].title = who + out[i].title
	}
	return out
}

// troubles are the problems of all workers in at most so many lines.
func (v *view) troubles(width, height int) []line {
	var out []line
	for i := range v.sights {
		s := &v.sights[i]
		for _, p := range s.problems() {
			m := warn
			if p.bad {
				m = bad
			}
			text := p.title
			if len(v.sights) > 1 {
				text = s.address + ": " + text
			}
			if !p.since.IsZero() {
				text += " since " + clock(p.since)
			}
			out = append(out, say(m, "! "+clean(text)))
			for _, more := range []string{p.error, p.more} {
				out = append(out, indented(plain, more, width)...)
			}
			if p.advice != "" {
				out = append(out, indented(strong, "What to do: "+p.advice, width)...)
			}
		}
	}
	if len(out) > height && height > 0 {
		left := len(out) - height + 1
		out = append(out[:height-1], say(dim, fmt.Sprintf("  and %s more; a larger window shows them", plural(left, "line"))))
	}
	return out
}

func indented(m mark, text string, width int) []line {
	var out []line
	for _, l := range wrapped(clean(text), width-2) {
		out = append(out, say(m, "  "+l))
	}
	return out
}

func waits(calls int) string {
	if calls == 1 {
		return "1 call waits"
	}
	return count(int64(calls)) + " calls wait"
}
