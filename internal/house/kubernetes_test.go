package house_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const kubernetes = root + "/deploy/kubernetes/"

// statefulSet is what is checked of the workers' manifest.
type statefulSet struct {
	Spec struct {
		Replicas    int
		ServiceName string `yaml:"serviceName"`
		Template    struct {
			Spec struct {
				Grace    int  `yaml:"terminationGracePeriodSeconds"`
				Links    bool `yaml:"enableServiceLinks"`
				Security struct {
					NonRoot bool   `yaml:"runAsNonRoot"`
					User    string `yaml:"runAsUser"`
				} `yaml:"securityContext"`
				Containers []container
				Volumes    []struct {
					Name   string
					Secret struct {
						SecretName string `yaml:"secretName"`
					}
				}
			}
		}
	}
}

type container struct {
	Args []string
	Env  []struct {
		Name, Value string
		ValueFrom   struct {
			FieldRef struct {
				FieldPath string `yaml:"fieldPath"`
			} `yaml:"fieldRef"`
		} `yaml:"valueFrom"`
	}
	Ports []struct {
		Name   string
		Number string `yaml:"containerPort"`
	}
	Resources struct{ Requests, Limits map[string]string }
	Ready     probe `yaml:"readinessProbe"`
	Live      probe `yaml:"livenessProbe"`
	Security  struct {
		Escalation   *bool `yaml:"allowPrivilegeEscalation"`
		ReadOnly     bool  `yaml:"readOnlyRootFilesystem"`
		Capabilities struct{ Drop []string }
	} `yaml:"securityContext"`
	Mounts []struct {
		Name string
		Path string `yaml:"mountPath"`
		Sub  string `yaml:"subPath"`
	} `yaml:"volumeMounts"`
}

type probe struct {
	Get      struct{ Path, Port string } `yaml:"httpGet"`
	Period   int                         `yaml:"periodSeconds"`
	Failures int                         `yaml:"failureThreshold"`
}

func workers(t *testing.T) (statefulSet, container) {
	t.Helper()
	var s statefulSet
	fromYAML(t, kubernetes+"base/statefulset.yaml", &s)
	if len(s.Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("a pod has %d containers", len(s.Spec.Template.Spec.Containers))
	}
	return s, s.Spec.Template.Spec.Containers[0]
}

// started is how a pod starts the program. The keys of its secret are those
// that the README tells to make.
func started(t *testing.T, c container) deployed {
	t.Helper()
	d := deployed{args: c.Args, environ: map[string]string{}, files: map[string]string{}}
	for _, e := range c.Env {
		d.environ[e.Name] = e.Value
		if e.ValueFrom.FieldRef.FieldPath == "metadata.name" {
			d.environ[e.Name] = "flowgraph-0"
		}
	}
	text, err := os.ReadFile(kubernetes + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range c.Mounts {
		switch m.Name {
		case "settings":
			d.files[m.Path+"/flowgraph.yaml"] = "deploy/kubernetes/base/flowgraph.yaml"
		case "secrets":
			if m.Sub != "" {
				t.Errorf("%s is one file of the secret, which stays as it was when the secret changes", m.Path)
			}
			for _, key := range regexp.MustCompile(`--from-(?:file|literal)=([a-z0-9-]+)=`).FindAllSubmatch(text, -1) {
				d.secrets = append(d.secrets, m.Path+"/"+string(key[1]))
			}
		}
	}
	return d
}

func TestKubernetesStartsTheProgramAsItIs(t *testing.T) {
	s, c := workers(t)
	e := settings(t, started(t, c))
	if e.InstanceID != "flowgraph-0" {
		t.Errorf("the instance is %q and not the pod's name", e.InstanceID)
	}
	outlives(t, time.Duration(s.Spec.Template.Spec.Grace)*time.Second, e)

	// Who asks at the port must find the worker there, from outside the pod.
	host, port, _ := strings.Cut(e.Listen, ":")
	if host != "" || len(c.Ports) != 1 || c.Ports[0].Number != port {
		t.Errorf("the worker listens on %s, its pod is asked at %v", e.Listen, c.Ports)
	}
	for path, p := range map[string]probe{"/readyz": c.Ready, "/healthz": c.Live} {
		if p.Get.Path != path || p.Get.Port != c.Ports[0].Name {
			t.Errorf("%s is asked as %+v", path, p.Get)
		}
	}
	// No restart cures a stopped partition, and each costs the others.
	if patience := c.Live.Period * c.Live.Failures; patience < 180 {
		t.Errorf("a pod in ill health is ended after %d s already", patience)
	}
}

func TestKubernetesNamesWhatIsThere(t *testing.T) {
	s, c := workers(t)
	var service struct {
		Metadata struct{ Name string }
		Spec     struct {
			ClusterIP string `yaml:"clusterIP"`
			Ports     []struct {
				Name, Port string
				Target     string `yaml:"targetPort"`
			}
		}
	}
	fromYAML(t, kubernetes+"base/service.yaml", &service)
	if service.Metadata.Name != s.Spec.ServiceName || service.Spec.ClusterIP != "None" || service.Spec.Ports[0].Target != c.Ports[0].Name {
		t.Errorf("the pods' service is %+v", service)
	}
	var budget struct {
		Spec struct {
			Most int `yaml:"maxUnavailable"`
		}
	}
	fromYAML(t, kubernetes+"base/poddisruptionbudget.yaml", &budget)
	if budget.Spec.Most < 1 || budget.Spec.Most >= s.Spec.Replicas {
		t.Errorf("%d of %d workers may be away at once", budget.Spec.Most, s.Spec.Replicas)
	}
	var monitor struct {
		Spec struct {
			JobLabel  string                        `yaml:"jobLabel"`
			Endpoints []struct{ Port, Path string } `yaml:"podMetricsEndpoints"`
		}
	}
	fromYAML(t, kubernetes+"monitoring/podmonitor.yaml", &monitor)
	if e := monitor.Spec.Endpoints[0]; e.Port != c.Ports[0].Name || e.Path != "/metrics" {
		t.Errorf("scraped is %+v", e)
	}
	// The alerts ask for job="flowgraph", which is that label's value.
	var base struct {
		Resources []string
		Labels    []struct{ Pairs map[string]string }
	}
	fromYAML(t, kubernetes+"base/kustomization.yaml", &base)
	if base.Labels[0].Pairs[monitor.Spec.JobLabel] != "flowgraph" {
		t.Errorf("the job has the value of %q of %v", monitor.Spec.JobLabel, base.Labels)
	}
	made, err := filepath.Glob(kubernetes + "base/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range made {
		name := filepath.Base(file)
		if name != "kustomization.yaml" && name != "flowgraph.yaml" && !slices.Contains(base.Resources, name) {
			t.Errorf("%s is in no kustomization", name)
		}
	}
}

func TestKubernetesGivesAWorkerNoMoreThanItNeeds(t *testing.T) {
	s, c := workers(t)
	pod := s.Spec.Template.Spec
	if c.Security.Escalation == nil || *c.Security.Escalation || !c.Security.ReadOnly || !slices.Equal(c.Security.Capabilities.Drop, []string{"ALL"}) {
		t.Errorf("the container may %+v", c.Security)
	}
	lines, _ := lastStage(t, dockerfiles[0])
	if !pod.Security.NonRoot || !slices.Contains(lines, "USER "+pod.Security.User+":"+pod.Security.User) {
		t.Errorf("the pod runs as %+v, the image otherwise", pod.Security)
	}
	// A limit above what is asked for could be memory that the node does not have.
	if l := c.Resources.Limits["memory"]; l == "" || l != c.Resources.Requests["memory"] {
		t.Errorf("memory is %v", c.Resources)
	}
}

func TestKustomizeMakesTheManifests(t *testing.T) {
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		t.Skip("there is no kubectl here")
	}
	for _, folder := range []string{"base", "monitoring"} {
		var errs strings.Builder
		cmd := exec.CommandContext(t.Context(), kubectl, "kustomize", kubernetes+folder)
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil || errs.Len() > 0 {
			t.Fatalf("%s: %v\n%s", folder, err, &errs)
		}
		if want := "name: flowgraph-"; !strings.Contains(string(out), want) {
			t.Errorf("%s: the settings have no name that changes with them", folder)
		}
		if strings.Contains(string(out), "kind: PodMonitor") != (folder == "monitoring") {
			t.Errorf("%s: a PodMonitor is where it should not be, or is not where it should", folder)
		}
	}
}
