package house_test

import (
	"os"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
	"go.yaml.in/yaml/v3"
)

// mounted is the file of the repository that a service sees under a path.
func mounted(t *testing.T, s types.ServiceConfig, inside string) string {
	t.Helper()
	for _, v := range s.Volumes {
		if rest, ok := strings.CutPrefix(inside, v.Target+"/"); ok && v.Type == types.VolumeTypeBind {
			return path.Join(v.Source, rest)
		}
	}
	t.Fatalf("%s sees nothing of the repository at %s", s.Name, inside)
	return ""
}

// fromYAML reads a file of the repository into v.
func fromYAML(t *testing.T, file string, v any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(text, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// listens says whether a service of the compose file is at host:port: by the
// port that is published for it.
func listens(t *testing.T, p *types.Project, address string) bool {
	t.Helper()
	host, port, _ := strings.Cut(strings.TrimPrefix(address, "http://"), ":")
	for _, published := range p.Services[host].Ports {
		if port == strconv.Itoa(int(published.Target)) {
			return true
		}
	}
	return false
}

func TestComposePrometheusScrapesTheWorkerAndKnowsTheAlerts(t *testing.T) {
	p := compose(t)
	var config struct {
		RuleFiles     []string `yaml:"rule_files"`
		ScrapeConfigs []struct {
			JobName       string                       `yaml:"job_name"`
			StaticConfigs []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	fromYAML(t, mounted(t, p.Services["prometheus"], "/etc/prometheus/prometheus.yml"), &config)
	if len(config.ScrapeConfigs) != 1 || config.ScrapeConfigs[0].JobName != "flowgraph" {
		t.Fatalf("scraped is %+v", config.ScrapeConfigs)
	}
	for _, target := range config.ScrapeConfigs[0].StaticConfigs[0].Targets {
		if !listens(t, p, target) {
			t.Errorf("nothing is at %s", target)
		}
	}
	if listen := *p.Services["worker"].Environment["FLOWGRAPH_LISTEN"]; listen != "0.0.0.0:9090" {
		t.Errorf("the worker listens on %s, where nobody else reaches it", listen)
	}
	for _, file := range config.RuleFiles {
		if _, err := os.Stat(mounted(t, p.Services["prometheus"], "/etc/prometheus/"+file)); err != nil {
			t.Errorf("a file of rules: %v", err)
		}
	}
}

func TestComposeGrafanaFindsItsDataAndTheDashboard(t *testing.T) {
	p := compose(t)
	grafana := p.Services["grafana"]
	var sources struct {
		Datasources []struct{ Type, URL string }
	}
	fromYAML(t, mounted(t, grafana, "/etc/grafana/provisioning/datasources/prometheus.yml"), &sources)
	if len(sources.Datasources) != 1 || sources.Datasources[0].Type != "prometheus" || !listens(t, p, sources.Datasources[0].URL) {
		t.Errorf("data comes from %+v", sources)
	}
	var boards struct {
		Providers []struct {
			Type    string
			Options struct{ Path string }
		}
	}
	fromYAML(t, mounted(t, grafana, "/etc/grafana/provisioning/dashboards/flowgraph.yml"), &boards)
	if len(boards.Providers) != 1 || boards.Providers[0].Type != "file" {
		t.Fatalf("dashboards come from %+v", boards)
	}
	home := *grafana.Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
	if path.Dir(home) != boards.Providers[0].Options.Path {
		t.Errorf("the first page %s is not in %s", home, boards.Providers[0].Options.Path)
	}
	if _, err := os.Stat(mounted(t, grafana, home)); err != nil {
		t.Error(err)
	}
}
