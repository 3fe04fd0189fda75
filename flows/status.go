package flows

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"flowgraph/checkpoints"
	"flowgraph/stages"
)

// FlowStatus is what people and programs see of one vchannel.
type FlowStatus struct {
	VChannel   string    `json:"vchannel"`
	Topic      string    `json:"topic"`
	Partition  int32     `json:"partition"`
	TopicID    string    `json:"topic_id,omitempty"`
	State      string    `json:"state"` // claiming, running, paused, waiting, stopped, done
	Error      string    `json:"error,omitempty"`
	Advice     string    `json:"advice,omitempty"`     // what to do about the error
	LastError  string    `json:"last_error,omitempty"` // of this process, also if the flow has recovered
	LastFailed time.Time `json:"last_error_at,omitzero"`
	Since      time.Time `json:"since"` // of the state
	Epoch      int64     `json:"epoch"`
	Owner      string    `json:"owner,omitempty"` // drawn for this claim
	Seek       int64     `json:"seek_position"`
	ReadFrom   int64     `json:"read_from"`
	Read       int64     `json:"read"` // next offset to be placed in segments
	LogStart   int64     `json:"log_start"`
	LogEnd     int64     `json:"log_end"` // next offset after the last stable record known
	Lag        int64     `json:"lag"`     // records between the seek position and the log's end
	Segments   int       `json:"segments"`
	Buffered   int64     `json:"buffered_bytes"`
	Flushing   int64     `json:"flushing_bytes"`
	Held       *Held     `json:"held,omitempty"` // what the seek position waits for; only in a Picture
	LastCommit time.Time `json:"last_commit"`

	ReadLag      int64     `json:"read_lag"`                 // records between the read position and the log's end
	SeekTime     time.Time `json:"seek_time,omitzero"`       // complete up to: the last time tick before the seek position
	ReadTime     time.Time `json:"read_time,omitzero"`       // the same of the read position
	SeekMoved    time.Time `json:"seek_moved,omitzero"`      // when the seek position last moved
	Oldest       time.Time `json:"oldest_unstored,omitzero"` // when the oldest row whose files are not stored was read
	PausedFor    float64   `json:"paused_seconds"`           // its reading, alone, since it lagged behind
	DocumentSize int64     `json:"document_bytes"`
	// Stalled is since when it makes no progress though there is something to
	// do and nothing to wait for; Stuck: for longer than it may. WaitsFor is
	// what it waits for rightly.
	Stalled  time.Time `json:"stalled_since,omitzero"`
	Stuck    bool      `json:"stuck"`
	WaitsFor string    `json:"waits_for,omitempty"`
	// LeftOut are records in a row that are below a time tick which must be wrong.
	LeftOut *stages.LeftOut `json:"left_out,omitempty"`
	Pause   *Pause          `json:"pause,omitempty"` // asked for by somebody; the state is paused while it would be running
}

// flowStatus is one vchannel in the set while this worker has it.
type flowStatus struct {
	set      *flowSet
	vchannel checkpoints.VChannel
	logStart atomic.Int64
	logEnd   atomic.Int64
	read     atomic.Int64 // next offset to be placed in segments
	gauges

	mu      sync.Mutex
	state   string
	since   time.Time
	err     error
	epoch   int64
	owner   string
	topicID string // vchannel's own is not changed: many read it
	tracker *checkpoints.Tracker
	account *Account
	mailbox *Mailbox
	views   views

	lastErr    error
	lastFailed time.Time
}

// flowSet holds the vchannels of this worker. It is a prometheus.Collector.
type flowSet struct {
	mu    sync.Mutex
	flows map[string]*flowStatus
	descs map[string]*prometheus.Desc
	limit time.Duration // for a flow without progress; 0: none

	events eventLog
}

func newFlowSet() *flowSet {
	s := &flowSet{flows: map[string]*flowStatus{}, descs: map[string]*prometheus.Desc{}}
	for name, help := range map[string]string{
		"seek_position":                 "Smallest offset not persisted, or the next to read.",
		"read_from_position":            "Offset at which reading would begin after a restart.",
		"read_position":                 "Next offset to be placed in segments.",
		"log_end_position":              "Next offset after the last stable record known.",
		"lag_records":                   "Offsets between the seek position and the log's end.",
		"epoch":                         "Epoch of this worker's claim.",
		"segments":                      "Segments in the checkpoint document.",
		"buffered_bytes":                "Memory of buffered rows.",
		"flushing_bytes":                "Memory of rows being encoded and uploaded.",
		"last_commit_timestamp_seconds": "Time of the last commit of this claim.",
		"stopped":                       "1 if the vchannel waits for an operator.",
	} {
		s.describe(name, help)
	}
	for name, help := range lagHelp() {
		s.describe(name, help)
	}
	s.descs["flows"] = describeFlows()
	return s
}

func (s *flowSet) describe(name, help string) {
	s.descs[name] = prometheus.NewDesc("flowgraph_vchannel_"+name, help, []string{"vchannel"}, nil)
}

// join adds a vchannel for as long as it is assigned.
func (m *Metrics) join(v checkpoints.VChannel) *flowStatus {
	f := &flowStatus{set: m.flowSet, vchannel: v, state: "claiming", since: time.Now()}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.flows[v.Name()] = f
	return f
}

// leave removes it, unless a later assignment has taken its place.
func (f *flowStatus) leave() {
	f.set.mu.Lock()
	defer f.set.mu.Unlock()
	if f.set.flows[f.vchannel.Name()] == f {
		delete(f.set.flows, f.vchannel.Name())
	}
}

func (f *flowStatus) become(state string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state, f.err, f.since = state, err, time.Now()
	if err != nil {
		f.lastErr, f.lastFailed = err, f.since
	}
	f.views.clear()
	f.tell()
}

// tell makes an event of the state that the flow has come into. The lock is
// held.
func (f *flowStatus) tell() {
	e := Event{Kind: f.state, VChannel: f.vchannel.Name(), Advice: Advice(f.err)}
	if f.err != nil {
		e.Error = f.err.Error()
	}
	f.set.events.add(e)
}

func (f *flowStatus) isRunning() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state == "running"
}

// running notes a claimed flow's parts.
func (f *flowStatus) running(doc *checkpoints.Document, t *checkpoints.Tracker, m *Mailbox) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state, f.err, f.since = "running", nil, time.Now()
	f.epoch, f.owner, f.topicID = doc.Epoch, doc.Owner, doc.TopicID
	f.tracker, f.account, f.mailbox = t, m.account, m
	f.views.clear()
	f.views.seq = 0
	f.tell()
}

func (f *flowStatus) status() FlowStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := FlowStatus{
		VChannel: f.vchannel.Name(), Topic: f.vchannel.Topic, Partition: f.vchannel.Partition, TopicID: f.topicID,
		State: f.state, Since: f.since, Epoch: f.epoch, Owner: f.owner,
		LogStart: f.logStart.Load(), LogEnd: f.logEnd.Load(), Read: f.read.Load(),
	}
	if f.err != nil {
		s.Error, s.Advice = f.err.Error(), Advice(f.err)
	}
	if f.lastErr != nil {
		s.LastError, s.LastFailed = f.lastErr.Error(), f.lastFailed
	}
	if f.tracker != nil {
		t := f.tracker.Status()
		s.Seek, s.ReadFrom, s.Segments, s.LastCommit = t.Seek.Offset, t.ReadFrom.Offset, t.Segments, t.LastCommit
		s.Buffered, s.Flushing = f.account.buffered.Load(), f.account.flushing.Load()
		s.Lag = max(0, s.LogEnd-s.Seek)
		f.measure(&s, t)
	}
	f.judge(&s, time.Now())
	s.LeftOut = f.leftOut.Load()
	if s.Pause = f.pausedBy.Load(); s.Pause != nil && s.State == "running" {
		s.State = "paused"
		if s.Pause.Since.After(s.Since) {
			s.Since = s.Pause.Since
		}
	}
	return s
}

// Status lists the vchannels of this worker by name.
func (s *flowSet) Status() []FlowStatus {
	flows := s.list()
	out := make([]FlowStatus, len(flows))
	for i, f := range flows {
		out[i] = f.status()
	}
	return out
}

// list is all of them by name.
func (s *flowSet) list() []*flowStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	flows := make([]*flowStatus, 0, len(s.flows))
	for _, f := range s.flows {
		flows = append(flows, f)
	}
	slices.SortFunc(flows, func(a, b *flowStatus) int { return strings.Compare(a.vchannel.Name(), b.vchannel.Name()) })
	return flows
}
