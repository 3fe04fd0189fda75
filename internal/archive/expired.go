package archive

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"flowgraph/checkpoints"
)

// expireRefusals is how often the store may refuse a mark before that is told:
// whoever asks for it waits.
const expireRefusals = 3

// expiredPrefix is where a mark says that a dropped collection's data may be
// gone. It is written before the first object goes.
const expiredPrefix = "expired/"

func expiredKey(collection int64) string { return fmt.Sprintf("%s%d.json", expiredPrefix, collection) }

// Expired is a dropped collection whose rows and deletes are removed for good.
// Its manifests and chunks stay: a row that is read again after a rewind is
// dropped by them as before.
type Expired struct {
	Collection int64  `json:"collection"`
	Name       string `json:"name,omitempty"`
	// Every moment from Created, 0 if unknown, and before Dropped is lost.
	// Hybrid timestamps.
	Created uint64 `json:"created,omitempty"`
	Dropped uint64 `json:"dropped"`
}

// Expired says whether a collection's data may have been removed.
func (a *Archive) Expired(collection int64) bool { return a.expired[collection] }

func (a *Archive) loadExpired(ctx context.Context) error {
	a.expired = map[int64]bool{}
	for info, err := range a.bucket.List(ctx, expiredPrefix) {
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(strings.TrimPrefix(info.Key, expiredPrefix), ".json")
		if id, err := strconv.ParseInt(name, 10, 64); err == nil && info.Key == expiredKey(id) {
			a.expired[id] = true
		}
	}
	return nil
}

// expirable lists the collections that were dropped at or before a moment and
// whose data no worker can come back to: every vchannel that knows it reads on
// from behind the drop, and all its segments have left the documents. By ID.
func (a *Archive) expirable(ctx context.Context, before time.Time) ([]Expired, error) {
	lives, err := a.lifetimes(ctx)
	if err != nil {
		return nil, err
	}
	limit := uint64(max(0, before.UnixMilli())) << 18
	var list []Expired
	for id, l := range lives {
		if l.dropped > limit || a.expired[id] || !a.settled(id) {
			continue
		}
		list = append(list, Expired{id, at(l.names, never), l.created, l.dropped})
	}
	slices.SortFunc(list, func(x, y Expired) int { return cmp.Compare(x.Collection, y.Collection) })
	return list, nil
}

// settledAgain are the marked collections whose data may go now. A vchannel
// that knew nothing of one when it was marked may be reading it: what its
// document refers to must be there until it has passed the drop too.
func (a *Archive) settledAgain() map[int64]bool {
	out := map[int64]bool{}
	for id := range a.expired {
		if a.settled(id) {
			out[id] = true
		}
	}
	return out
}

// settled says whether a dropped collection is behind every vchannel.
func (a *Archive) settled(collection int64) bool {
	for _, v := range a.vchannels {
		if v.Err != nil {
			return false
		}
		c := v.Doc.Collections[collection]
		if c == nil {
			continue
		}
		if c.Dropped == nil || v.Doc.ReadFrom.Offset <= c.Dropped.Offset {
			return false
		}
		for _, s := range v.Doc.Segments {
			if s.Collection == collection {
				return false
			}
		}
	}
	return true
}

// expire marks a collection. A mark that is there already says the same,
// whoever wrote it: what was dropped changes no more.
func (a *Archive) expire(ctx context.Context, e Expired) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	key := expiredKey(e.Collection)
	_, err = a.bucket.Put(ctx, key, checkpoints.Object{Parts: [][]byte{data}}, checkpoints.Condition{Refusals: expireRefusals})
	if errors.Is(err, checkpoints.ErrConflict) {
		have, _, getErr := a.bucket.Get(ctx, key)
		if getErr == nil && bytes.HasPrefix(have, fmt.Appendf(nil, `{"collection":%d,`, e.Collection)) {
			err = nil
		}
	}
	return err
}
