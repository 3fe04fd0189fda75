package flows

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// flowStates are all that a flow may be in.
func flowStates() []string {
	return []string{"claiming", "running", "paused", "waiting", "stopped", "done"}
}

// registerStates registers what is computed when somebody asks.
func (m *Metrics) registerStates(reg prometheus.Registerer) {
	gauge := func(name, help string, value func() float64) {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "flowgraph_" + name, Help: help}, value))
	}
	gauge("reading_paused", "1 while the worker reads nothing, for want of memory.", func() float64 {
		if _, since := m.reading.read(time.Now()); since.IsZero() {
			return 0
		}
		return 1
	})
	gauge("kafka_last_answer_timestamp_seconds", "Time at which a broker last answered anything.", func() float64 {
		return float64(m.kafka.answered.Load()) / 1e3
	})
	reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "flowgraph_reading_paused_seconds_total", Help: "Time in which the worker read nothing, for want of memory.",
	}, func() float64 {
		total, _ := m.reading.read(time.Now())
		return total.Seconds()
	}))
}

// describeFlows is the one metric of the set that is not of a vchannel.
func describeFlows() *prometheus.Desc {
	return prometheus.NewDesc("flowgraph_flows", "Vchannels that this worker has, by the state of their flows.", []string{"state"}, nil)
}

// collectFlows counts the flows in each state.
func (s *flowSet) collectFlows(ch chan<- prometheus.Metric, all []FlowStatus) {
	n := map[string]int{}
	for i := range all {
		n[all[i].State]++
	}
	for _, state := range flowStates() {
		ch <- prometheus.MustNewConstMetric(s.descs["flows"], prometheus.GaugeValue, float64(n[state]), state)
	}
}
