package sinks_test

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"flowgraph/checkpoints"
)

// What a store lacks is told step by step, where Probe ends at the first.
func TestATrialBlamesTheNextStepForAConditionThatIsIgnored(t *testing.T) {
	for header, lacking := range map[string]string{"If-None-Match": "create-only put", "If-Match": "conditional put"} {
		t.Run(header, func(t *testing.T) {
			g := newGateway(t)
			g.fault = g.withoutCondition(header)
			for _, trial := range newBucket(t, g.config()).Try(t.Context()) {
				if trial.What == "get" {
					continue // this store forgets checksums too
				}
				if (trial.Err != nil) != (trial.What == lacking) {
					t.Errorf("%s: %v", trial.What, trial.Err)
				}
				if trial.Err != nil && !strings.Contains(trial.Err.Error(), "ignores "+header) {
					t.Error(trial.Err)
				}
			}
			if left, err := filepath.Glob(filepath.Join(g.dir, "a-bucket", "files", "checkpoints", ".probe-*")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func TestATrialGoesOnWhereNothingCanBeWritten(t *testing.T) {
	g := newGateway(t)
	g.fault = func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			refuseWith(w, r, http.StatusForbidden, "AccessDenied")
			return
		}
		g.proxy.ServeHTTP(w, r)
	}
	cfg := g.config()
	cfg.ProbeTries = 2
	b := newBucket(t, cfg)
	if _, ok := b.Ahead(); ok {
		t.Error("a clock is known before anybody answered")
	}
	trials := b.Try(t.Context())
	if last := trials[len(trials)-1]; last.What != "put" || !errors.Is(last.Err, checkpoints.ErrRefused) || len(trials) != 3 {
		t.Errorf("%+v", trials)
	}
	if ahead, ok := b.Ahead(); !ok || ahead.Abs() > 60e9 {
		t.Errorf("the store's clock is %s ahead, known: %v", ahead, ok)
	}
	if err := b.Probe(t.Context()); err == nil || !strings.Contains(err.Error(), "PutObject") {
		t.Error(err)
	}
}
