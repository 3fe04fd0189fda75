package flows

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// askEnds asks where the logs of all running flows end. Fetches tell it too,
// but not of a partition whose reading is paused: its lag must grow all the
// same.
func (w *Worker) askEnds() {
	w.mu.Lock()
	asked := map[partition]*flowStatus{}
	topics := map[string]struct{}{}
	for p, a := range w.parts {
		if a.installed.Load() != nil {
			asked[p], topics[p.topic] = a.status, struct{}{}
		}
	}
	w.mu.Unlock()
	if len(asked) == 0 {
		return
	}
	names := make([]string, 0, len(topics))
	for t := range topics {
		names = append(names, t)
	}
	ctx, cancel := context.WithTimeout(w.ctx, w.patience.topics)
	defer cancel()
	ends, err := kadm.NewClient(w.client).ListCommittedOffsets(ctx, names...)
	if err != nil && len(ends) == 0 {
		return // asked again soon; that nobody answers shows elsewhere
	}
	now := time.Now()
	ends.Each(func(o kadm.ListedOffset) {
		if f := asked[partition{o.Topic, o.Partition}]; f != nil && o.Err == nil {
			f.endIs(o.Offset, now)
		}
	})
}

// endIs notes an answer about the log's end. A fetch may have told of a later
// one meanwhile.
func (f *flowStatus) endIs(offset int64, now time.Time) {
	f.endAt.Store(now.UnixNano())
	for {
		known := f.logEnd.Load()
		if offset <= known || f.logEnd.CompareAndSwap(known, offset) {
			return
		}
	}
}
