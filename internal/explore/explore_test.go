package explore

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

var (
	oneScript = flag.String("script", "", "only the scripts whose name begins so")
	onePoint  = flag.Int("point", 0, "only this call of the script, counted from 1")
	oneKind   = flag.String("kind", "", "only this kind of failure")
	verbose   = flag.Bool("story", false, "tell what happened, also where nothing is wrong")
)

// scripts are those in testdata.
func scripts(t *testing.T) []*script {
	t.Helper()
	paths, err := filepath.Glob("testdata/scripts/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	var all []*script
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := parse(name, string(text))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, *oneScript) {
			all = append(all, s)
		}
	}
	return all
}

// point is one failure of one call of a script.
type point struct {
	number int // of the call, from 1
	call   call
	kind   kind
}

func (p point) command(s *script) string {
	return fmt.Sprintf("go test ./internal/explore -run TestEveryCallFails -args -script %s -point %d -kind %s", s.name, p.number, p.kind)
}

// pointsOf are all failures of all calls that a script makes, in the order in
// which it makes them.
func pointsOf(w *world) []point {
	calls := slices.Clone(w.seen)
	slices.SortFunc(calls, func(a, b call) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.name, b.name)) })
	var points []point
	for i, c := range calls {
		for _, k := range kindsOf(c.op) {
			points = append(points, point{i + 1, c, k})
		}
	}
	return points
}

// once is a plan with one failure.
func (p point) once() plan {
	return func(_, name string) kind {
		if name == p.call.name {
			return p.kind
		}
		return works
	}
}

// replays are the batches in which a new life reads what others read before.
var replays = []int{1 << 30, 1, 3}

func TestEveryCallFails(t *testing.T) {
	// What happens at one moment happens in the same order every time.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, s := range scripts(t) {
		t.Run(s.name, func(t *testing.T) { s.explore(t) })
	}
}

// run is one run of the script.
func (s *script) run(t *testing.T, replay int, p plan) (w *world) {
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(s, newTools(), replay, p)
		w.run()
	})
	if w.failure == "" {
		w.check()
	}
	return w
}

func (s *script) explore(t *testing.T) {
	w := s.run(t, replays[0], nil)
	if w.failure != "" || *verbose {
		t.Logf("%s", w.text())
	}
	if w.failure != "" {
		t.Fatalf("without any failure: %s", w.failure)
	}
	points, calls, unmet := pointsOf(w), len(w.seen), 0
	for _, p := range points {
		if *onePoint != 0 && p.number != *onePoint || *oneKind != "" && string(p.kind) != *oneKind {
			continue
		}
		w := s.run(t, replays[p.number%len(replays)], p.once())
		for again := 0; w.met == 0 && again < 5; again++ { // two things at one moment came in another order
			w = s.run(t, replays[p.number%len(replays)], p.once())
		}
		if w.met == 0 {
			unmet++
			t.Logf("%s did not come", p.call.name)
		}
		if w.failure != "" || *verbose {
			t.Errorf("%s: %s\n%s\n%s\nto repeat it:\n  %s", p.call.name, p.kind, w.text(), w.failure, p.command(s))
		}
		if w.failure != "" && *onePoint == 0 {
			t.FailNow()
		}
	}
	t.Logf("%d calls, %d points, %d not met", calls, len(points), unmet)
}
