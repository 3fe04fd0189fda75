package flows

import (
	"context"
	"errors"
	"time"
)

// Pause is since when a vchannel is not read because somebody asked for it.
// It lasts while this worker has the partition, whatever its flow goes
// through, and is forgotten with the assignment: neither a restart nor another
// worker knows of it.
type Pause struct {
	Since time.Time `json:"since"`
	By    string    `json:"by,omitempty"`
}

// ErrWholePartition: a pause cannot be for one collection.
var ErrWholePartition = errors.New("a partition is read as a whole: name vchannels, not a collection")

// Pause stops the reading of vchannels, in the name of somebody. What is
// buffered is flushed by age as ever, and a drain flushes all. It returns once
// nothing more is taken, or when ctx ends. One that is paused stays so, since
// and by whom it was.
func (w *Worker) Pause(ctx context.Context, s Selector, by string) (Outcome, error) {
	now := &Pause{Since: time.Now(), By: by}
	return w.hold(ctx, s, func(f *flowStatus) {
		if f.pausedBy.CompareAndSwap(nil, now) {
			f.set.events.add(Event{Kind: "pause", VChannel: f.vchannel.Name(), Reason: by})
			w.log.Info().Str("vchannel", f.vchannel.Name()).Str("by", by).Msg("paused on request")
		}
	})
}

// Resume goes on where a Pause has stopped.
func (w *Worker) Resume(ctx context.Context, s Selector, by string) (Outcome, error) {
	return w.hold(ctx, s, func(f *flowStatus) {
		if f.pausedBy.Swap(nil) != nil {
			f.set.events.add(Event{Kind: "resume", VChannel: f.vchannel.Name(), Reason: by})
			w.log.Info().Str("vchannel", f.vchannel.Name()).Str("by", by).Msg("resumed on request")
		}
	})
}

// hold changes whether vchannels are to be read, and waits until the poll
// loop has heeded that.
func (w *Worker) hold(ctx context.Context, s Selector, change func(*flowStatus)) (Outcome, error) {
	if s.Collection != "" {
		return Outcome{}, ErrWholePartition
	}
	targets, notHere, err := w.choose(s)
	out := Outcome{VChannels: make([]Asked, len(targets)), NotHere: notHere}
	if err != nil {
		return out, err
	}
	for i, t := range targets {
		out.VChannels[i].VChannel = t.a.status.vchannel.Name()
		change(t.a.status)
	}
	w.mu.Lock()
	w.held = true
	w.interrupt()
	w.mu.Unlock()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for i, t := range targets {
		for !t.a.heeds() {
			select {
			case <-ctx.Done():
				return out, nil
			case <-ticker.C:
			}
		}
		out.VChannels[i].Done = true
	}
	return out, nil
}

// heeds says whether the partition is read or not as was asked for. Without a
// flow that takes records it is not read.
func (a *assignment) heeds() bool {
	return a.installed.Load() == nil || a.held.Load() == a.isPaused()
}

// isPaused says that somebody wants it not to be read.
func (a *assignment) isPaused() bool { return a.status.pausedBy.Load() != nil }

// heed lets requests to pause and to resume take effect, and returns the flows
// that may be read. A partition is fetched if it is neither held nor lags
// behind: the end of one reason does not undo the other. Only the poll loop
// calls it.
func (w *Worker) heed(flows []*assignment) []*assignment {
	read := flows[:0]
	for _, a := range flows {
		switch wanted := a.isPaused(); {
		case wanted && !a.held.Load():
			w.client.PauseFetchPartitions(map[string][]int32{a.topic: {a.id}})
			a.held.Store(true)
		case !wanted && a.held.Load():
			if !a.paused {
				w.client.ResumeFetchPartitions(map[string][]int32{a.topic: {a.id}})
			}
			a.held.Store(false)
		}
		if !a.held.Load() {
			read = append(read, a)
		}
	}
	return read
}
