package flows

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"flowgraph/checkpoints"
)

// FlowStatus is what people and programs see of one vchannel.
type FlowStatus struct {
	VChannel   string    `json:"vchannel"`
	State      string    `json:"state"` // claiming, running, waiting, stopped, done
	Error      string    `json:"error,omitempty"`
	Since      time.Time `json:"since"` // of the state
	Epoch      int64     `json:"epoch"`
	Seek       int64     `json:"seek_position"`
	ReadFrom   int64     `json:"read_from"`
	Read       int64     `json:"read"`    // next offset to be placed in segments
	LogEnd     int64     `json:"log_end"` // next offset after the last stable record known
	Lag        int64     `json:"lag"`     // records between the seek position and the log's end
	Segments   int       `json:"segments"`
	Buffered   int64     `json:"buffered_bytes"`
	Flushing   int64     `json:"flushing_bytes"`
	LastCommit time.Time `json:"last_commit"`
}

// flowStatus is one vchannel in the set while this worker has it.
type flowStatus struct {
	set      *flowSet
	vchannel checkpoints.VChannel
	logEnd   atomic.Int64
	read     atomic.Int64 // next offset to be placed in segments

	mu      sync.Mutex
	state   string
	since   time.Time
	err     error
	epoch   int64
	tracker *checkpoints.Tracker
	account *Account
}

// flowSet holds the vchannels of this worker. It is a prometheus.Collector.
type flowSet struct {
	mu    sync.Mutex
	flows map[string]*flowStatus
	descs map[string]*prometheus.Desc
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
		s.descs[name] = prometheus.NewDesc("flowgraph_vchannel_"+name, help, []string{"vchannel"}, nil)
	}
	return s
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
}

// running notes a claimed flow's parts.
func (f *flowStatus) running(epoch int64, t *checkpoints.Tracker, a *Account) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state, f.err, f.since = "running", nil, time.Now()
	f.epoch, f.tracker, f.account = epoch, t, a
}

func (f *flowStatus) status() FlowStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := FlowStatus{VChannel: f.vchannel.Name(), State: f.state, Since: f.since, Epoch: f.epoch, LogEnd: f.logEnd.Load(), Read: f.read.Load()}
	if f.err != nil {
		s.Error = f.err.Error()
	}
	if f.tracker != nil {
		t := f.tracker.Status()
		s.Seek, s.ReadFrom, s.Segments, s.LastCommit = t.Seek.Offset, t.ReadFrom.Offset, t.Segments, t.LastCommit
		s.Buffered, s.Flushing = f.account.buffered.Load(), f.account.flushing.Load()
		s.Lag = max(0, s.LogEnd-s.Seek)
	}
	return s
}

// Status lists the vchannels of this worker by name.
func (s *flowSet) Status() []FlowStatus {
	s.mu.Lock()
	flows := make([]*flowStatus, 0, len(s.flows))
	for _, f := range s.flows {
		flows = append(flows, f)
	}
	s.mu.Unlock()
	out := make([]FlowStatus, len(flows))
	for i, f := range flows {
		out[i] = f.status()
	}
	slices.SortFunc(out, func(a, b FlowStatus) int { return strings.Compare(a.VChannel, b.VChannel) })
	return out
}

// Describe implements prometheus.Collector.
func (s *flowSet) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range s.descs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (s *flowSet) Collect(ch chan<- prometheus.Metric) {
	for _, f := range s.Status() {
		gauge := func(name string, v float64) {
			ch <- prometheus.MustNewConstMetric(s.descs[name], prometheus.GaugeValue, v, f.VChannel)
		}
		stopped := 0.0
		if f.State == "stopped" {
			stopped = 1
		}
		gauge("stopped", stopped)
		if f.Epoch == 0 {
			continue
		}
		gauge("seek_position", float64(f.Seek))
		gauge("read_from_position", float64(f.ReadFrom))
		gauge("read_position", float64(f.Read))
		gauge("log_end_position", float64(f.LogEnd))
		gauge("lag_records", float64(f.Lag))
		gauge("epoch", float64(f.Epoch))
		gauge("segments", float64(f.Segments))
		gauge("buffered_bytes", float64(f.Buffered))
		gauge("flushing_bytes", float64(f.Flushing))
		if !f.LastCommit.IsZero() {
			gauge("last_commit_timestamp_seconds", unixSeconds(f.LastCommit))
		}
	}
}
