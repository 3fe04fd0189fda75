package cli

import (
	"runtime"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"flowgraph/flows"
)

// newRegistry is where a worker's metrics are, with those of the process, of
// the build and of the store, which are needed before the bucket is made.
func newRegistry(release string) (*prometheus.Registry, *flows.StoreMetrics) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	flows.RegisterBuild(registry, strings.TrimPrefix(version(release), "flowgraph "), runtime.Version())
	return registry, flows.NewStoreMetrics(registry)
}
