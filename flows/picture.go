package flows

import (
	"context"
	"time"
)

// Picture is all of a worker at one moment, for a page or a program.
type Picture struct {
	At        time.Time       `json:"at"`
	Worker    WorkerStatus    `json:"worker"`
	VChannels []FlowStatus    `json:"vchannels"` // by name
	Segments  []SegmentStatus `json:"segments"`  // by vchannel, then by position
}

// WorkerStatus is what its flows share.
type WorkerStatus struct {
	Started      time.Time   `json:"started"`
	Ready        bool        `json:"ready"`           // the first assignment is claimed
	Phase        string      `json:"phase"`           // starting: it tries out the store; running, stopping: it drains
	Error        string      `json:"error,omitempty"` // why it cannot start
	Since        *time.Time  `json:"error_since,omitempty"`
	Advice       string      `json:"advice,omitempty"`
	Kafka        KafkaStatus `json:"kafka"`
	MemoryBudget int64       `json:"memory_budget_bytes"`
	MemoryUsed   int64       `json:"memory_used_bytes"`
	Paused       bool        `json:"paused"` // it reads nothing, for want of memory
}

// A flow shows its buffer with its next pack, which comes every second at
// latest, unless the store holds it up. Where somebody looks again and again,
// only flows that are busy are waited for: nothing moves in the others.
const (
	lookWait  = 1500 * time.Millisecond
	againWait = 100 * time.Millisecond
	recently  = 5 * time.Second // how old a view may be to be good enough
)

// Look has all flows show their buffers, waits for them a little while if
// nobody has looked of late, and returns what is known. Without a Look nothing
// of this is computed.
func (w *Worker) Look(ctx context.Context) *Picture {
	flows := w.metrics.list()
	w.askViews(ctx, flows)
	p := &Picture{At: time.Now(), Worker: w.describe(), VChannels: make([]FlowStatus, 0, len(flows)), Segments: []SegmentStatus{}}
	for _, f := range flows {
		s, segments := f.status(), f.segments()
		s.Held = f.held(s, segments)
		p.VChannels = append(p.VChannels, s)
		p.Segments = append(p.Segments, segments...)
	}
	return p
}

// Events are the newest ones after a sequence number, oldest first.
func (w *Worker) Events(after uint64, limit int) Events { return w.metrics.events.after(after, limit) }

// askViews waits for no flow that has been asked before and is blocked.
func (w *Worker) askViews(ctx context.Context, flows []*flowStatus) {
	now, wait := time.Now(), againWait
	var waitFor []*flowStatus
	for _, f := range flows {
		if !f.isRunning() {
			continue
		}
		last, since := f.views.last.Load(), f.views.ask(now.UnixMilli())
		if now.Sub(time.UnixMilli(since)) >= lookWait {
			continue
		}
		waitFor = append(waitFor, f)
		if last == nil || now.Sub(time.UnixMilli(last.at)) > recently {
			wait = lookWait
		}
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for len(waitFor) > 0 {
		if f := waitFor[0]; f.views.asked.Load() == 0 || !f.isRunning() {
			waitFor = waitFor[1:]
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// describe is the worker without its flows.
func (w *Worker) describe() WorkerStatus {
	s := WorkerStatus{
		Started: w.started, Ready: w.Ready(), Kafka: w.kafka.status(w.cfg, time.Now()),
		MemoryBudget: w.shared.Budget.Limit(), MemoryUsed: w.shared.Budget.Used(),
		Paused: w.shared.Budget.Over() > 0,
	}
	w.refused.describe(&s)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closing:
		s.Phase = "stopping"
	case w.begun.Load():
		s.Phase = "running"
	default:
		s.Phase = "starting"
	}
	return s
}

// Held says what the seek position waits for.
type Held struct {
	By      string `json:"by"`                // buffer, flush, commit, or error: the flow does not run
	Segment string `json:"segment,omitempty"` // for buffer and flush
	Offset  int64  `json:"offset"`            // how far the next commit can move it
	Text    string `json:"text"`              // the same as a sentence
}

// held names the one segment, or the commit, that the seek position waits for.
func (f *flowStatus) held(s FlowStatus, segments []SegmentStatus) *Held {
	works := s.State == "running" || s.State == "paused" // what was read is handled all the same
	if s.Epoch == 0 || s.Seek >= s.Read && works {
		return nil
	}
	if !works {
		return &Held{By: "error", Offset: s.Seek, Text: "nothing is read from here on: the flow is " + s.State}
	}
	if len(segments) > 0 && segments[0].Pins {
		g := &segments[0]
		h := &Held{By: "buffer", Segment: g.ID, Offset: *g.Position}
		what := "has rows in the buffer"
		if g.FlushingRows > 0 {
			h.By, what = "flush", "has a flush under way"
		}
		h.Text = "segment " + g.ID + " of " + g.Collection + "/" + g.Partition + " " + what
		return h
	}
	return &Held{By: "commit", Offset: s.Read, Text: "everything before is stored; the next commit moves it on"}
}
