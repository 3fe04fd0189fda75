package flows

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"flowgraph/sinks"
	"flowgraph/stages"
)

// Metrics are the worker's counters; what concerns single vchannels is
// collected from the live flows, so that a series ends with its flow.
type Metrics struct {
	*flowSet
	records, rows, deletes                    prometheus.Counter
	filtered, repeated, rerouted, afterDrop   prometheus.Counter
	belowTick, orphans, expired               prometheus.Counter
	ignored                                   *prometheus.CounterVec
	fetchedRecords, fetchedBytes              prometheus.Counter
	quarantined                               *prometheus.CounterVec
	flushes                                   *prometheus.CounterVec
	flushSeconds, commitSeconds               prometheus.Histogram
	objects, bytes, rebuilt                   prometheus.Counter
	commits, documentBytes                    prometheus.Counter
	lostOffsets, fenced, restarts, rebalances prometheus.Counter

	kafka   *kafkaHealth
	reading stopwatch    // on while the worker reads nothing, for want of memory
	movedAt atomic.Int64 // when anything last moved in any flow, Unix ns
}

// NewMetrics registers the worker's metrics.
func NewMetrics(reg prometheus.Registerer, budget *Budget) *Metrics {
	m := &Metrics{flowSet: newFlowSet(), kafka: &kafkaHealth{}}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: "flowgraph_" + name, Help: help})
		reg.MustRegister(c)
		return c
	}
	m.records = counter("records_total", "Kafka records handled.")
	m.rows = counter("rows_total", "Rows placed in segments.")
	m.deletes = counter("deletes_total", "Deletes placed in segments.")
	m.filtered = counter("filtered_rows_total", "Rows and deletes read again and dropped because they are persisted.")
	m.repeated = counter("repeated_messages_total", "Messages that a producer sent again.")
	m.rerouted = counter("rerouted_rows_total", "Rows for a Flushed segment, placed in an auto segment.")
	m.afterDrop = counter("after_drop_rows_total", "Rows and deletes at or after the drop of their collection or partition, left out.")
	m.belowTick = counter("below_tick_records_total", "Records of a WAL below the last time tick, left out as Milvus does.")
	m.orphans = counter("orphan_messages_total", "Messages and commits of transactions whose beginning was not read, left out.")
	m.expired = counter("expired_transactions_total", "Transactions that a time tick has outlived, left out as Milvus does.")
	m.ignored = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "flowgraph_ignored_messages_total", Help: "Messages of types that are known to have no effect on rows, by Milvus' name of the type.",
	}, []string{"type"})
	m.ignored.WithLabelValues(stages.IgnoredControl) // the others with their first message: there are many types
	m.fetchedRecords = counter("fetched_records_total", "Records taken from Kafka, those of flows that died before they stored them included.")
	m.fetchedBytes = counter("fetched_bytes_total", "Bytes of keys, values and headers of the records taken from Kafka.")
	m.objects = counter("objects_total", "Binlog files stored.")
	m.bytes = counter("object_bytes_total", "Bytes of binlog files stored.")
	m.rebuilt = counter("rebuilt_key_statistics_total", "Key statistics of flushes that were lost in the bucket, made anew from the keys.")
	m.commits = counter("commits_total", "Checkpoint documents stored.")
	m.documentBytes = counter("commit_bytes_total", "Bytes of checkpoint documents stored.")
	m.lostOffsets = counter("lost_offsets_total", "Offsets that the log no longer held when they had to be read.")
	m.fenced = counter("fenced_total", "Flows that another owner's claim ended.")
	m.restarts = counter("flow_restarts_total", "Flows started again after an error.")
	m.rebalances = counter("rebalances_total", "Changes of the partitions assigned by the group.")
	m.flushes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "flowgraph_flushes_total", Help: "Cuts of segments, by the reason for them.",
	}, []string{"reason"})
	for _, r := range stages.Reasons {
		m.flushes.WithLabelValues(string(r))
	}
	m.flushSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "flowgraph_flush_duration_seconds", Help: "From the start of a flush's encoding until all its files are stored.",
		Buckets: prometheus.ExponentialBuckets(0.005, 2, 14),
	})
	m.commitSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "flowgraph_commit_duration_seconds", Help: "From the start of a commit until its document is stored.",
		Buckets: prometheus.ExponentialBuckets(0.005, 2, 14),
	})
	m.quarantined = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "flowgraph_quarantined_records_total", Help: "Bad records stored under quarantine/, by what is wrong with them.",
	}, []string{"reason"})
	for _, k := range stages.BadKinds {
		m.quarantined.WithLabelValues(string(k))
	}
	reg.MustRegister(m.commitSeconds, m.quarantined, m.ignored)
	m.registerStates(reg)
	reg.MustRegister(m.flushes, m.flushSeconds, m.flowSet)
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "flowgraph_memory_budget_bytes", Help: "The worker's memory budget.",
	}, func() float64 { return float64(budget.Limit()) }))
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "flowgraph_memory_used_bytes", Help: "What all flows hold of the memory budget.",
	}, func() float64 { return float64(budget.Used()) }))
	return m
}

// cut counts what rode on one cut and what became of it.
func (m *Metrics) cut(r sinks.Report) {
	if !r.Stored {
		return // it will be read, and counted, again
	}
	m.movedAt.Store(time.Now().UnixNano())
	n := r.Cut.Counts
	m.records.Add(float64(n.Records))
	m.rows.Add(float64(n.Rows))
	m.deletes.Add(float64(n.Deletes))
	m.filtered.Add(float64(n.Filtered))
	m.repeated.Add(float64(n.Repeated))
	m.rerouted.Add(float64(n.Rerouted))
	m.afterDrop.Add(float64(n.AfterDrop))
	m.belowTick.Add(float64(n.BelowTick))
	m.orphans.Add(float64(n.Orphans))
	m.expired.Add(float64(n.Expired))
	for name, count := range n.Ignored {
		m.ignored.WithLabelValues(name).Add(float64(count))
	}
	for i := range r.Cut.Bad {
		m.quarantined.WithLabelValues(string(r.Cut.Bad[i].Kind)).Inc()
	}
	if r.Cut.Reason != "" {
		m.flushes.WithLabelValues(string(r.Cut.Reason)).Inc()
	}
	if r.Objects > 0 {
		m.flushSeconds.Observe(r.Took.Seconds())
		m.objects.Add(float64(r.Objects))
		m.bytes.Add(float64(r.Bytes))
	}
}

func (m *Metrics) lost(offsets int64) { m.lostOffsets.Add(float64(offsets)) }

func unixSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
