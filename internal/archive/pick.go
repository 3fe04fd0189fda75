package archive

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// pick finds the collection of a name or ID that is alive at a moment; 0 is
// the moment up to which that collection is complete. A name may have had
// several IDs over time, and in several databases at one time.
func (a *Archive) pick(lives map[int64]*lifetime, nameOrID string, until uint64) (*lifetime, uint64, error) {
	if id, err := strconv.ParseInt(nameOrID, 10, 64); err == nil && lives[id] != nil {
		l := lives[id]
		moment := a.moment(l, until)
		if !l.alive(moment) {
			return nil, 0, noCollection("collection %s is not alive at %s", l.describe(), momentText(moment))
		}
		return l, moment, nil
	}
	var named, alive []*lifetime
	for _, l := range lives {
		moment := a.moment(l, until)
		if slices.ContainsFunc(l.names, func(d dated[string]) bool { return d.value == nameOrID }) {
			named = append(named, l)
			if l.alive(moment) && at(l.names, moment) == nameOrID {
				alive = append(alive, l)
			}
		}
	}
	switch {
	case len(alive) == 1:
		return alive[0], a.moment(alive[0], until), nil
	case len(alive) > 1:
		return nil, 0, noCollection("several collections are named %s, give the ID of one: %s", nameOrID, describeAll(alive))
	case len(named) > 0:
		return nil, 0, noCollection("no collection named %s is alive at that moment; there were: %s", nameOrID, describeAll(named))
	}
	return nil, 0, noCollection("no collection is or was named %s", nameOrID)
}

// moment is until, or where that is 0 what the collection is complete up to.
// Without a tick in the log nothing is known to be complete; then it is all
// that is there.
func (a *Archive) moment(l *lifetime, until uint64) uint64 {
	if until == 0 {
		until = a.complete(l)
	}
	if until == 0 || until == never {
		return never - 1 // before a drop that never was
	}
	return until
}

// CollectionNames lists the names that collections have or had.
func (a *Archive) CollectionNames() []string {
	var names []string
	for _, v := range a.vchannels {
		for _, c := range v.Collections(a) {
			if c.Name != "" {
				names = append(names, c.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func describeAll(list []*lifetime) string {
	slices.SortFunc(list, func(x, y *lifetime) int {
		return cmp.Or(cmp.Compare(x.created, y.created), cmp.Compare(x.id, y.id))
	})
	var parts []string
	for _, l := range list {
		parts = append(parts, l.describe())
	}
	return strings.Join(parts, ", ")
}

// describe is an ID with the time in which it was alive.
func (l *lifetime) describe() string {
	text := fmt.Sprintf("%d (created %s", l.id, momentText(l.created))
	if l.dropped != never {
		text += ", dropped " + momentText(l.dropped)
	}
	return text + ")"
}

// momentText writes the physical part of a hybrid timestamp, and the whole.
func momentText(ts uint64) string {
	switch ts {
	case 0:
		return "at an unknown time"
	case never, never - 1:
		return "the end"
	}
	return fmt.Sprintf("%s, timestamp %d", time.UnixMilli(int64(ts>>18)).UTC().Format("2006-01-02T15:04:05.000Z"), ts)
}
