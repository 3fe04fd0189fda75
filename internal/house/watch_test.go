package house_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"
	"go.yaml.in/yaml/v3"
)

// expression is one query of the dashboard or one alert, with the labels that
// words beside it take from its result.
type expression struct {
	where, query string
	words        string
}

// dashboard is the part of Grafana's model that is checked.
type dashboard struct {
	Templating struct {
		List []struct {
			Name, Type string
			Query      any
		}
	}
	Panels []struct {
		ID         int
		Type       string
		Title      string
		Datasource struct{ UID string }
		GridPos    struct{ X, Y, W, H int }
		Targets    []struct{ RefID, Expr, LegendFormat string }
	}
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	text, err := os.ReadFile(root + "/deploy/grafana/dashboards/flowgraph.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// alertRule is one of Prometheus' alerting rules.
type alertRule struct {
	Alert, Expr string
	Labels      map[string]string
	Annotations map[string]string
}

func readAlerts(t *testing.T) []alertRule {
	t.Helper()
	var file struct {
		Groups []struct{ Rules []alertRule }
	}
	text, err := os.ReadFile(root + "/deploy/prometheus/alerts.yml")
	if err == nil {
		err = yaml.Unmarshal(text, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	var rules []alertRule
	for _, g := range file.Groups {
		rules = append(rules, g.Rules...)
	}
	if len(rules) < 10 {
		t.Fatalf("only %d alerts", len(rules))
	}
	return rules
}

// grafana stands for what it puts into a query.
var grafana = strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*", "$top", "5", "${datasource}", "")

func expressions(t *testing.T) []expression {
	t.Helper()
	var all []expression
	for _, p := range readDashboard(t).Panels {
		for _, target := range p.Targets {
			all = append(all, expression{"panel " + p.Title, grafana.Replace(target.Expr), target.LegendFormat})
		}
	}
	if len(all) < 40 {
		t.Fatalf("the dashboard has only %d queries", len(all))
	}
	for _, r := range readAlerts(t) {
		all = append(all, expression{"alert " + r.Alert, r.Expr, r.Annotations["summary"]})
	}
	return all
}

// byPrometheus are the labels and the metric that a scrape adds.
var byPrometheus = []string{"job", "instance"}

// A renamed metric or label must not leave a panel empty or an alert silent
// for ever.
func TestDashboardAndAlertsNameMetricsThereAre(t *testing.T) {
	live := liveMetrics(t)
	used := map[string]bool{}
	for _, e := range expressions(t) {
		parsed, err := metricsql.Parse(e.query)
		if err != nil {
			t.Errorf("%s: %v", e.where, err)
			continue
		}
		labels := map[string]bool{}
		for name, filters := range selectors(parsed) {
			known, ok := live[name]
			if !ok {
				t.Errorf("%s: there is no metric %s", e.where, name)
				continue
			}
			used[base(name)] = true
			maps.Copy(labels, known)
			for _, f := range filters {
				if values, ok := live[name+"{"+f.Label+"}"]; !known[f.Label] || ok && !f.IsRegexp && !values[f.Value] {
					t.Errorf("%s: no series of %s has %s=%q", e.where, name, f.Label, f.Value)
				}
			}
		}
		for _, l := range append(groupings(parsed), wordsLabels(e.words)...) {
			if !labels[l] {
				t.Errorf("%s: nothing in %s has the label %s", e.where, e.query, l)
			}
		}
	}
	for name := range live {
		if name := base(name); strings.HasPrefix(name, "flowgraph_") && !strings.Contains(name, "{") && !used[name] && !slices.Contains(unshown, name) {
			t.Errorf("neither dashboard nor alerts show %s", name)
		}
	}
}

// unshown are metrics that serve other ends: positions, which the lags are
// made of, and moments.
var unshown = []string{
	"flowgraph_vchannel_epoch", "flowgraph_vchannel_log_end_position", "flowgraph_vchannel_read_from_position",
	"flowgraph_vchannel_seek_position", "flowgraph_vchannel_seek_timestamp_seconds", "flowgraph_reading_paused",
}

// base is the metric that a histogram's series belong to.
func base(name string) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if b, ok := strings.CutSuffix(name, suffix); ok && strings.HasSuffix(b, "_seconds") {
			return b
		}
	}
	return name
}

// selectors are the metrics of an expression with their filters.
func selectors(e metricsql.Expr) map[string][]metricsql.LabelFilter {
	found := map[string][]metricsql.LabelFilter{}
	metricsql.VisitAll(e, func(e metricsql.Expr) {
		m, ok := e.(*metricsql.MetricExpr)
		if !ok {
			return
		}
		for _, filters := range m.LabelFilterss {
			name := ""
			var rest []metricsql.LabelFilter
			for _, f := range filters {
				if f.Label == "__name__" {
					name = f.Value
				} else {
					rest = append(rest, f)
				}
			}
			found[name] = append(found[name], rest...)
		}
	})
	return found
}

// groupings are the labels by which an expression aggregates.
func groupings(e metricsql.Expr) (labels []string) {
	metricsql.VisitAll(e, func(e metricsql.Expr) {
		if a, ok := e.(*metricsql.AggrFuncExpr); ok {
			labels = append(labels, a.Modifier.Args...)
		}
	})
	return labels
}

var placeholder = regexp.MustCompile(`\{\{\s*(?:\$labels\.)?([a-z]+)\s*\}\}`)

// wordsLabels are the labels that a legend or a sentence puts in.
func wordsLabels(words string) (labels []string) {
	for _, m := range placeholder.FindAllStringSubmatch(words, -1) {
		labels = append(labels, m[1])
	}
	return labels
}

// Who is woken must find what to do, and where.
func TestEveryAlertHasItsSectionInTheRunbook(t *testing.T) {
	text, err := os.ReadFile(root + "/docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, s := range strings.Split("\n"+string(text), "\n## ")[1:] {
		title, body, _ := strings.Cut(s, "\n")
		sections[title] = body
	}
	for _, r := range readAlerts(t) {
		body := sections[r.Alert]
		for _, part := range []string{"**Means.**", "**Look at.**", "**Do.**"} {
			if !strings.Contains(body, part) {
				t.Errorf("the section of %s lacks %s", r.Alert, part)
			}
		}
		if want := "docs/operations.md#" + strings.ToLower(r.Alert); r.Annotations["runbook"] != want {
			t.Errorf("%s: the runbook is %q, want %q", r.Alert, r.Annotations["runbook"], want)
		}
		if r.Annotations["summary"] == "" || !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) {
			t.Errorf("%s: summary %q, severity %q", r.Alert, r.Annotations["summary"], r.Labels["severity"])
		}
		delete(sections, r.Alert)
	}
	for title := range sections {
		if strings.HasPrefix(title, "Flowgraph") {
			t.Errorf("the runbook has %s, which is no alert", title)
		}
	}
}

// Panels that lie over each other hide one; a fixed data source shows nothing
// where it has another name.
func TestTheDashboardFitsAnyGrafana(t *testing.T) {
	d := readDashboard(t)
	if v := d.Templating.List; len(v) == 0 || v[0].Name != "datasource" || v[0].Type != "datasource" || v[0].Query != "prometheus" {
		t.Errorf("the first variable is no data source: %+v", v)
	}
	taken, ids := map[string]string{}, map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("%s: the ID %d is another panel's", p.Title, p.ID)
		}
		ids[p.ID] = true
		if p.Type != "row" && (p.Datasource.UID != "${datasource}" || len(p.Targets) == 0) {
			t.Errorf("%s: data source %q, %d queries", p.Title, p.Datasource.UID, len(p.Targets))
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				at := fmt.Sprint(x, ",", y)
				if other, ok := taken[at]; ok || x >= 24 {
					t.Fatalf("%s lies over %q at %s", p.Title, other, at)
				}
				taken[at] = p.Title
			}
		}
	}
}
