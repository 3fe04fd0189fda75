package house_test

import (
	"cmp"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"flowgraph/flows"
)

var update = flag.Bool("update", false, "write the pages of docs/reference anew that are made from the code")

const metricsTop = "# Metrics\n\n<!-- made from the code by go test ./internal/house -update -->\n\n" +
	"What `/metrics` serves, besides the Go runtime's and the process' own. The alerts on them are in `deploy/prometheus/alerts.yml`,\n" +
	"[operations](../operations.md) says for each what to do; the dashboard is `deploy/grafana/dashboards/flowgraph.json`.\n"

func TestTheReferenceListsTheMetricsThereAre(t *testing.T) {
	page(t, "metrics.md", metricsTop+metricsTable(t))
}

func metricsTable(t *testing.T) string {
	t.Helper()
	c := &collectors{}
	flows.NewMetrics(c, flows.NewBudget(1<<30))
	flows.NewStoreMetrics(c)
	flows.RegisterBuild(c, "", "")
	described := regexp.MustCompile(`fqName: "([^"]*)", help: "([^"]*)", unit: "[^"]*", constLabels: \{\}, variableLabels: \{([^}]*)\}`)
	var rows [][]string
	for _, m := range c.all {
		descs := make(chan *prometheus.Desc, 64)
		m.Describe(descs)
		close(descs)
		for d := range descs {
			parts := described.FindStringSubmatch(d.String())
			if parts == nil {
				t.Fatalf("a description reads %s", d)
			}
			rows = append(rows, parts[1:])
		}
	}
	slices.SortFunc(rows, func(x, y []string) int { return cmp.Compare(x[0], y[0]) })
	var b strings.Builder
	b.WriteString("\n| metric | labels | meaning |\n|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r[0], r[2], r[1])
	}
	return b.String()
}

// collectors is a Registerer that notes what is registered.
type collectors struct{ all []prometheus.Collector }

func (c *collectors) Register(m prometheus.Collector) error {
	c.all = append(c.all, m)
	return nil
}
func (c *collectors) MustRegister(ms ...prometheus.Collector) { c.all = append(c.all, ms...) }
func (c *collectors) Unregister(prometheus.Collector) bool    { return false }
