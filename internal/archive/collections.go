package archive

import (
	"cmp"
	"context"
	"maps"
	"slices"
)

// CollectionLife is one collection that the archive holds, alive or not.
// Timestamps are hybrid.
type CollectionLife struct {
	ID        int64
	Name      string // the last one; "" if unknown
	Created   uint64 // 0: before the log begins
	Since     uint64 // rows up to then are missing: the log begins later than the collection; 0: none are
	Dropped   uint64 // 0: alive
	Last      uint64 // latest moment that is whole and at which it was alive; 0: none is known
	VChannels []string
	Expired   bool // its data was removed; Last is 0
}

// CollectionLives lists every collection by name, and those of one name in
// the order in which they were created. It reads all DDL events.
func (a *Archive) CollectionLives(ctx context.Context) ([]CollectionLife, error) {
	lives, err := a.lifetimes(ctx)
	if err != nil {
		return nil, err
	}
	var out []CollectionLife
	for l := range maps.Values(lives) {
		c := CollectionLife{
			ID: l.id, Name: at(l.names, never), Created: l.created, Since: l.since, Last: a.complete(l),
			VChannels: slices.Sorted(slices.Values(l.vchannels)),
		}
		if l.dropped != never {
			c.Dropped, c.Last = l.dropped, min(c.Last, l.dropped-1)
		}
		if a.expired[l.id] {
			c.Expired, c.Last = true, 0
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(x, y CollectionLife) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Created, y.Created), cmp.Compare(x.ID, y.ID))
	})
	return out, nil
}
