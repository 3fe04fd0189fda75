package top

import (
	"cmp"
	"context"
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
	mark          mark // warn or bad
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
		out = append(out, problem{mark: bad, title: "The worker refuses to answer", since: s.gone, error: s.err.Error(), advice: "give its --listen-token as --token."})
	case s.err != nil:
		text := s.err.Error()
		if errors.Is(s.err, context.DeadlineExceeded) {
			text = "the connection is made, and no answer comes in time: it hangs, or is not let run"
		}
		out = append(out, problem{mark: bad, title: "The worker does not answer", since: s.gone, error: text,
			advice: "if it has ended, its log says why in the last line. This view goes on by itself once it is back. Rows that it held are read again from the bucket's positions."})
	}
	w, st := s.state.Worker, s.state.Store
	if w.Error != "" {
		out = append(out, problem{mark: bad, title: "The worker cannot start", since: orElse(w.Since, time.Time{}), error: w.Error, advice: w.Advice})
	}
	if w.Kafka.Error != "" {
		p := problem{mark: warn, title: "There is nothing to read", error: w.Kafka.Error, advice: w.Kafka.Advice}
		if w.Kafka.Since != nil {
			p.title, p.since = "Kafka does not let this worker read", *w.Kafka.Since
		}
		out = append(out, p)
	}
	if st.Waiting > 0 {
		out = append(out, problem{mark: warn, title: waits(st.Waiting) + " for the object store " + st.Name,
			since: orElse(st.Since, time.Time{}), error: st.Error, advice: st.Advice})
	}
	if w.Paused {
		out = append(out, problem{mark: warn, title: "Reading pauses: the memory budget is used up",
			advice: "it passes by itself; if it does not, look at the store, or raise --memory-budget."})
	}
	out = append(out, s.ailing()...)
	slices.SortStableFunc(out, func(a, b problem) int { return cmp.Compare(b.mark, a.mark) })
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
			p := problem{mark: warn, since: c.Since, error: c.Error, advice: c.Advice}
			switch c.State {
			case "stopped":
				p.mark, p.title = bad, "stopped: it waits for you"
			case "waiting":
				p.title = "trying again by itself"
			case "running":
				p.title, p.since = "stuck", c.Stalled
			}
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
			text := p.title
			if len(v.sights) > 1 {
				text = s.address + ": " + text
			}
			if !p.since.IsZero() {
				text += " since " + clock(p.since)
			}
			out = append(out, say(p.mark, "! "+clean(text)))
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
