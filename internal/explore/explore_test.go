package explore

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
)

var (
	oneScript = flag.String("script", "", "only the scripts whose name begins so")
	oneCall   = flag.String("call", "", "only this call of the script")
	oneKind   = flag.String("kind", "", "only this kind of failure")
	sample    = flag.Int("sample", 0, "only so many points, drawn by -seed; 0: all")
	tell      = flag.Bool("story", false, "tell what happened, also where nothing is wrong")
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

// run is one run of the script, in a bubble of virtual time of its own. What
// is in the bucket then is compared with the log outside of it.
func (s *script) run(t *testing.T, replay int, p plan) (w *world) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(s, replay, p)
		w.run()
	})
	if w.failure == "" {
		w.check()
	}
	if *tell {
		t.Logf("%s", w.text())
	}
	return w
}

// totals are what all points of all scripts came to.
type totals struct{ calls, points, unmet, lives, rows int64 }

// A worker that dies, is refused, is not answered or is overtaken at any call
// that it makes leaves nothing lost, nothing doubled, and nothing to do for
// whoever starts once more.
func TestEveryCallFails(t *testing.T) {
	// What happens at one moment happens in the same order every time.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var points []point
	sum := &totals{}
	for _, s := range scripts(t) {
		if *oneCall != "" {
			points = append(points, asked(s, *oneCall, *oneKind)...)
			continue
		}
		w := s.run(t, replays[0], nil)
		if w.failure != "" {
			t.Fatalf("%s, without any failure:\n%s\n%s", s.name, w.text(), w.failure)
		}
		sum.calls += int64(len(w.seen))
		points = append(points, pointsOf(w)...)
	}
	if *sample > 0 && *sample < len(points) {
		rng := rand.New(rand.NewPCG(*seed, 0))
		rng.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
		points = points[:*sample]
	}
	failed := map[*script]bool{}
	for _, p := range points {
		if *oneKind == "" || *oneKind == string(p.kind) {
			if !failed[p.script] { // one story of a script is enough to read
				failed[p.script] = !p.explore(t, sum)
			}
		}
	}
	t.Logf("%d points of %d calls explored in %d lives (%d not met again); %d rows and deletes compared, lost 0, doubled 0",
		sum.points, sum.calls, sum.lives, sum.unmet, sum.rows)
}

// explore lets one call fail, and says whether all was well.
func (p point) explore(t *testing.T, sum *totals) bool {
	w := p.script.run(t, p.replay(), p.once())
	for again := 0; w.met == 0 && again < 5; again++ { // two things at one moment came in another order
		w = p.script.run(t, p.replay(), p.once())
	}
	sum.points++
	sum.lives += int64(len(w.all))
	sum.rows += p.script.last().expect.Rows + p.script.last().expect.Deletes
	if w.met == 0 {
		sum.unmet++
	}
	if w.failure != "" {
		t.Errorf("%s\n%s\n%s\nto repeat it:\n  %s", p, w.text(), w.failure, p.command())
	}
	return w.failure == ""
}
