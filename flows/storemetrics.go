package flows

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"flowgraph/sinks"
)

// StoreMetrics count what goes to and comes from the object store. They are
// registered before the bucket is made, since its Hooks feed them.
type StoreMetrics struct {
	requests, retries *prometheus.CounterVec
	seconds           *prometheus.HistogramVec
	sent, received    prometheus.Counter
	waiting           atomic.Pointer[sinks.Waiting]
}

// usual are the operations whose series are there from the start, so that the
// first failure of one is a rise that an alert can see.
var usual = []string{"put", "get", "stat", "list"}

// NewStoreMetrics registers the store's metrics.
func NewStoreMetrics(reg prometheus.Registerer) *StoreMetrics {
	m := &StoreMetrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "flowgraph_store_requests_total", Help: "Requests to the object store, by what came of them.",
		}, []string{"operation", "result"}),
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "flowgraph_store_retries_total", Help: "Calls of the object store that are tried again, by the reason for it.",
		}, []string{"operation", "reason"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "flowgraph_store_request_duration_seconds", Help: "One request to the object store; put is one upload.",
			Buckets: prometheus.ExponentialBuckets(0.005, 2.5, 11),
		}, []string{"operation"}),
		sent:     prometheus.NewCounter(prometheus.CounterOpts{Name: "flowgraph_store_sent_bytes_total", Help: "Bytes of objects in requests that succeeded."}),
		received: prometheus.NewCounter(prometheus.CounterOpts{Name: "flowgraph_store_received_bytes_total", Help: "Bytes of objects read from the store."}),
	}
	m.waiting.Store(&sinks.Waiting{})
	for _, op := range usual {
		m.seconds.WithLabelValues(op)
		for _, o := range sinks.Outcomes {
			m.requests.WithLabelValues(op, string(o))
			if o != sinks.OK && o != sinks.Absent && o != sinks.Canceled {
				m.retries.WithLabelValues(op, string(o))
			}
		}
	}
	reg.MustRegister(m.requests, m.retries, m.seconds, m.sent, m.received,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "flowgraph_store_waiting_calls", Help: "Calls that wait for the object store.",
		}, func() float64 { return float64(m.waiting.Load().Calls) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "flowgraph_store_waiting_seconds", Help: "For how long the longest of them waits; 0 while the store answers.",
		}, func() float64 { return m.waitingSeconds(time.Now()) }))
	return m
}

func (m *StoreMetrics) waitingSeconds(now time.Time) float64 {
	w := m.waiting.Load()
	if w.Calls == 0 {
		return 0
	}
	return max(0, now.Sub(w.Since).Seconds())
}

// Hooks are to be given to the bucket.
func (m *StoreMetrics) Hooks() sinks.Hooks {
	return sinks.Hooks{
		Request: func(op string, bytes int64, took time.Duration, o sinks.Outcome) {
			m.requests.WithLabelValues(op, string(o)).Inc()
			m.seconds.WithLabelValues(op).Observe(took.Seconds())
			switch {
			case o != sinks.OK:
			case op == "put":
				m.sent.Add(float64(bytes))
			case op == "get":
				m.received.Add(float64(bytes))
			}
		},
		Retry:   func(op string, why sinks.Outcome) { m.retries.WithLabelValues(op, string(why)).Inc() },
		Waiting: func(w sinks.Waiting) { m.waiting.Store(&w) },
	}
}

// RegisterBuild registers what the running program is.
func RegisterBuild(reg prometheus.Registerer, version, goVersion string) {
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "flowgraph_build_info", Help: "1; its labels say which program runs.",
	}, []string{"version", "goversion"})
	build.WithLabelValues(version, goVersion).Set(1)
	reg.MustRegister(build)
}
