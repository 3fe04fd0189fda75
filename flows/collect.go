package flows

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Describe implements prometheus.Collector.
func (s *flowSet) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range s.descs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (s *flowSet) Collect(ch chan<- prometheus.Metric) {
	now := time.Now()
	all := s.Status()
	s.collectFlows(ch, all)
	for _, f := range all {
		gauge := func(name string, v float64) {
			ch <- prometheus.MustNewConstMetric(s.descs[name], prometheus.GaugeValue, v, f.VChannel)
		}
		stopped := 0.0
		if f.State == "stopped" {
			stopped = 1
		}
		gauge("stopped", stopped)
		paused := 0.0
		if f.Pause != nil {
			paused = 1
		}
		gauge("paused", paused)
		gauge("stalled_seconds", f.stalledSeconds(now))
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
		s.collectLags(ch, &f, now, gauge)
	}
}
