package flows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"flowgraph/checkpoints"
	"flowgraph/stages"
)

// Outcome is what came of a request.
type Outcome struct {
	VChannels []Asked  `json:"vchannels"`          // by name
	NotHere   []string `json:"not_here,omitempty"` // named, and not this worker's
}

// Asked is what came of it in one vchannel.
type Asked struct {
	VChannel string `json:"vchannel"`
	// Done: the flow has obeyed. If it has neither that nor an error it does
	// not get to it, and obeys later unless it ends before.
	Done bool `json:"done"`
	// Committed: what a flush or seal has cut is stored, and the checkpoint
	// says so.
	Committed bool  `json:"committed,omitempty"`
	Segments  int   `json:"segments"` // cut
	Rows      int64 `json:"rows"`     // in them, deletes included
	Bytes     int64 `json:"bytes"`    // of memory
	// Unsealed is how many segments are sealed later, once reading has passed
	// what is persisted of others.
	Unsealed int    `json:"unsealed,omitempty"`
	Error    string `json:"error,omitempty"` // why it was not asked, or has ended
}

// Whole says that everybody who was named has done what was asked for, and
// has committed it.
func (o Outcome) Whole(committed bool) bool {
	for i := range o.VChannels {
		if v := &o.VChannels[i]; v.Error != "" || !v.Done || committed && !v.Committed {
			return false
		}
	}
	return len(o.NotHere) == 0
}

// ErrNotRunning: none of the vchannels that were asked has a flow that runs.
var ErrNotRunning = errors.New("no flow runs that could be asked")

// Flush has what was read so far written, as an ordinary cut. It returns once
// the flows have obeyed or, with wait, have committed; or when ctx ends, and
// then says how far they have come. What ctx did not wait for is done later.
func (w *Worker) Flush(ctx context.Context, s Selector, wait bool) (Outcome, error) {
	return w.request(ctx, s, stages.Request{}, wait)
}

// Seal lets no further row into the open segments of this moment: rows that
// name them go to segments of our own. It flushes what they hold, and is held
// back where the rules want it; such a wish is lost with its flow.
func (w *Worker) Seal(ctx context.Context, s Selector, wait bool) (Outcome, error) {
	return w.request(ctx, s, stages.Request{Seal: true}, wait)
}

// pending is a request that a flow was handed.
type pending struct {
	tracker *checkpoints.Tracker
	mailbox *Mailbox
	answer  <-chan Done
}

func (w *Worker) request(ctx context.Context, s Selector, r stages.Request, wait bool) (Outcome, error) {
	targets, notHere, err := w.choose(s)
	out := Outcome{VChannels: make([]Asked, len(targets)), NotHere: notHere}
	if err != nil {
		return out, err
	}
	asked, running := make([]*pending, len(targets)), 0
	for i, t := range targets {
		v := &out.VChannels[i]
		v.VChannel = t.a.status.vchannel.Name()
		r.Collection = t.collection
		if asked[i], err = t.a.status.hand(r); err != nil {
			v.Error = err.Error()
			continue
		}
		running++
	}
	switch {
	case len(targets) == 0:
		return out, fmt.Errorf("%w: this worker has no vchannel", ErrNotRunning)
	case running == 0:
		return out, fmt.Errorf("%w: %s: %s", ErrNotRunning, out.VChannels[0].VChannel, out.VChannels[0].Error)
	}
	for i, p := range asked {
		if p != nil {
			p.await(ctx, &out.VChannels[i], wait)
		}
	}
	return out, nil
}

// hand gives a request to the flow that runs.
func (f *flowStatus) hand(r stages.Request) (*pending, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state != "running" {
		if f.err != nil {
			return nil, fmt.Errorf("it is %s: %w", f.state, f.err)
		}
		return nil, fmt.Errorf("it is %s", f.state)
	}
	answer, err := f.mailbox.Request(r)
	if err != nil {
		return nil, err
	}
	return &pending{f.tracker, f.mailbox, answer}, nil
}

// committedEvery is how often it is asked whether a commit was made.
const committedEvery = 20 * time.Millisecond

// await follows a request until it is obeyed or committed, the flow or ctx
// ends.
func (p *pending) await(ctx context.Context, v *Asked, commit bool) {
	var d Done
	select {
	case d = <-p.answer:
	case <-p.mailbox.over:
		select { // it may have come just before
		case d = <-p.answer:
		default:
			v.Error = errEnded.Error()
			return
		}
	case <-ctx.Done():
		return
	}
	v.Done, v.Segments, v.Rows, v.Bytes, v.Unsealed = true, d.Segments, d.Rows, d.Bytes, d.Unsealed
	ticker := time.NewTicker(committedEvery)
	defer ticker.Stop()
	for ended := false; ; {
		if v.Committed = p.tracker.Status().Committed > d.Cut; v.Committed || !commit {
			return
		}
		if ended {
			v.Error = errEnded.Error()
			return
		}
		select {
		case <-ticker.C:
		case <-p.mailbox.over:
			ended = true
		case <-ctx.Done():
			return
		}
	}
}
