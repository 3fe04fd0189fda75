package flows

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"flowgraph/checkpoints"
	"flowgraph/stages"
)

// tickTime is the physical part of a hybrid timestamp; zero for none.
func tickTime(tick uint64) time.Time {
	if tick == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(tick >> 18))
}

// behind is how long ago the moment was up to which a position is complete: 0
// at the log's end, whatever the time, since nothing is missing there. It is
// not known where no time tick was read before the position.
func behind(offset, end int64, complete, now time.Time) (d time.Duration, known bool) {
	switch {
	case offset >= end:
		return 0, true
	case complete.IsZero():
		return 0, false
	}
	return max(0, now.Sub(complete)), true
}

// moved notes a commit's seek position.
func (f *flowStatus) moved(seek checkpoints.Position, now time.Time) {
	if f.seekWas.Swap(seek.Offset) != seek.Offset {
		f.seekMoved.Store(now.UnixNano())
	}
}

func unixTime(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

// gauges are what of a vchannel only metrics and health ask for.
type gauges struct {
	endAt     atomic.Int64  // when a broker last told the log's end, Unix ns
	readTick  atomic.Uint64 // last time tick before the read position
	seekWas   atomic.Int64  // seek position of the last commit
	seekMoved atomic.Int64  // when it last moved, Unix ns
	paused    stopwatch     // its reading alone, since it lags behind the others
	pausedBy  atomic.Pointer[Pause]
	watched   watched
	leftOut   atomic.Pointer[stages.LeftOut] // nil: none, or not for long
}

// lagHelp describes the gauges of a vchannel that are measured here.
func lagHelp() map[string]string {
	return map[string]string{
		"read_lag_records":                      "Offsets between the read position and the log's end.",
		"lag_seconds":                           "How long ago the moment was up to which all is persisted; 0 at the log's end.",
		"read_lag_seconds":                      "How long ago the moment was up to which all is read; 0 at the log's end.",
		"seek_timestamp_seconds":                "Moment up to which all is persisted: the last time tick before the seek position.",
		"seek_moved_timestamp_seconds":          "Time at which the seek position last moved, or the claim.",
		"oldest_unstored_row_timestamp_seconds": "Time at which the oldest row was read whose files are not stored yet; 0 if there is none.",
		"reading_paused_seconds_total":          "Time in which this vchannel alone was not read, since it lagged behind.",
		"paused":                                "1 while it is not read because somebody has asked for that.",
		"left_out_seconds":                      "Log time over which every record is left out, since a time tick far ahead was read; 0: none is.",
		"document_bytes":                        "Size of the checkpoint document.",
		"stalled_seconds":                       "Time without progress though there is something to do, and nothing to wait for; 0 while it moves.",
	}
}

// measure fills in what follows from a claimed flow's positions. The lock is
// held.
func (f *flowStatus) measure(s *FlowStatus, t checkpoints.Status) {
	s.ReadLag = max(0, s.LogEnd-s.Read)
	s.SeekTime, s.ReadTime = tickTime(t.Seek.Tick), tickTime(f.readTick.Load())
	s.SeekMoved, s.DocumentSize = unixTime(f.seekMoved.Load()), t.DocumentBytes
	if oldest := f.account.unstored.oldest(); oldest != 0 {
		s.Oldest = time.UnixMilli(oldest)
	}
}

// judge fills in whether the flow moves.
func (f *flowStatus) judge(s *FlowStatus, now time.Time) {
	paused, _ := f.paused.read(now)
	s.PausedFor = paused.Seconds()
	s.Stalled, s.WaitsFor = f.watched.stalled()
	s.Stuck = f.set.limit > 0 && s.stalledSeconds(now) > f.set.limit.Seconds()
}

func (s *FlowStatus) stalledSeconds(now time.Time) float64 {
	if s.Stalled.IsZero() {
		return 0
	}
	return max(0, now.Sub(s.Stalled).Seconds())
}

// collectLags emits the gauges of lagHelp of a claimed flow.
func (s *flowSet) collectLags(ch chan<- prometheus.Metric, f *FlowStatus, now time.Time, gauge func(string, float64)) {
	gauge("read_lag_records", float64(f.ReadLag))
	gauge("document_bytes", float64(f.DocumentSize))
	spell := 0.0
	if f.LeftOut != nil {
		spell = float64(f.LeftOut.Spell()) / 1000
	}
	gauge("left_out_seconds", spell)
	if d, known := behind(f.Seek, f.LogEnd, f.SeekTime, now); known {
		gauge("lag_seconds", d.Seconds())
	}
	if d, known := behind(f.Read, f.LogEnd, f.ReadTime, now); known {
		gauge("read_lag_seconds", d.Seconds())
	}
	oldest := 0.0
	if !f.Oldest.IsZero() {
		oldest = unixSeconds(f.Oldest)
	}
	gauge("oldest_unstored_row_timestamp_seconds", oldest)
	gauge("seek_moved_timestamp_seconds", unixSeconds(f.SeekMoved))
	if !f.SeekTime.IsZero() {
		gauge("seek_timestamp_seconds", unixSeconds(f.SeekTime))
	}
	ch <- prometheus.MustNewConstMetric(s.descs["reading_paused_seconds_total"], prometheus.CounterValue, f.PausedFor, f.VChannel)
}
