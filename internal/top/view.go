package top

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"flowgraph/flows"
)

// place names a vchannel of the fleet: while a partition moves, two workers
// show the same one.
type place struct {
	worker   int
	vchannel string
}

// view is what is looked at: the sights, and what the keys have chosen.
type view struct {
	sights   []sight
	selected place
	order    order
	filter   string
	typing   bool // the filter is being typed
	help     bool
	events   bool // where there is room for one of both: events, not segments
	all      bool // events of all vchannels
	tail     bool // the axis shows only what moves
	scroll   int  // of the segments
	notice   string
	doubt    *deed // wanted, and not confirmed yet
	wanted   *deed // to be done now
}

// order is one by which vchannels are listed.
type order int

const (
	byTrouble order = iota
	byLag
	byBuffered
	byName
)

func (o order) String() string {
	return [...]string{"trouble", "lag", "buffered bytes", "name"}[o]
}

// channel is a vchannel of the list with the worker that has it.
type channel struct {
	worker *sight
	*flows.FlowStatus
}

func (c channel) place() place { return place{c.worker.worker, c.VChannel} }

// list is what the filter lets through, in order.
func (v *view) list() []channel {
	words := strings.Fields(strings.ToLower(v.filter))
	var out []channel
	for i := range v.sights {
		s := &v.sights[i]
		for j := range s.channels {
			c := channel{s, &s.channels[j]}
			text := strings.ToLower(c.VChannel + " " + c.State + " " + s.address)
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
				out = append(out, c)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b channel) int { return cmp.Or(v.order.compare(a, b), a.byName(b)) })
	return out
}

func (o order) compare(a, b channel) int {
	switch o {
	case byTrouble:
		return cmp.Compare(trouble(a), trouble(b))
	case byLag:
		return cmp.Compare(b.Lag, a.Lag)
	case byBuffered:
		return cmp.Compare(b.Buffered+b.Flushing, a.Buffered+a.Flushing)
	}
	return 0
}

func (c channel) byName(o channel) int {
	return cmp.Or(strings.Compare(c.Topic, o.Topic), cmp.Compare(c.Partition, o.Partition), cmp.Compare(c.worker.worker, o.worker.worker))
}

// trouble puts first what needs somebody.
func trouble(c channel) int {
	switch {
	case c.State == "stopped":
		return 0
	case c.Stuck:
		return 1
	case c.State == "waiting":
		return 2
	case c.State == "claiming":
		return 3
	case c.State == "paused":
		return 4
	}
	return 5
}

// settle selects a vchannel where none is, or the one that was has gone.
func (v *view) settle() {
	list := v.list()
	if len(list) == 0 || slices.ContainsFunc(list, func(c channel) bool { return c.place() == v.selected }) {
		return
	}
	for _, c := range list { // it may have moved to another worker
		if c.VChannel == v.selected.vchannel {
			v.choose(c.place())
			return
		}
	}
	v.choose(list[0].place())
}

func (v *view) choose(p place) { v.selected, v.scroll = p, 0 }

// move selects another line of the list.
func (v *view) move(by int) {
	list := v.list()
	if len(list) == 0 {
		return
	}
	at := slices.IndexFunc(list, func(c channel) bool { return c.place() == v.selected })
	v.choose(list[min(len(list)-1, max(0, at+by))].place())
}

// now is the time of the worker's clock: it says how long ago something was.
func (s *sight) now() time.Time { return s.state.At }

// known tells whether any worker has answered: else that there is nothing is
// not its word.
func (v *view) known() bool {
	return slices.ContainsFunc(v.sights, func(s sight) bool { return s.answered })
}

// ready tells whether every worker has answered once, or cannot.
func (v *view) ready() bool {
	return !slices.ContainsFunc(v.sights, func(s sight) bool { return !s.answered && s.err == nil })
}
