package cli

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// written is a buffer that may be looked at while it is written to.
type written struct {
	mu sync.Mutex
	bytes.Buffer
}

func (w *written) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Buffer.Write(b)
}

func TestWorkThatEndsAtOnceTellsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out written
		p := newProgress(&out, "records")
		p.at(10, 20)
		time.Sleep(900 * time.Millisecond)
		p.at(20, 20)
		p.end()
		p.end()
		if out.Len() > 0 {
			t.Errorf("told: %q", out.String())
		}
	})
}

func TestPlainLinesComeSeldomAndALastOneAlways(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out written
		p := newProgress(&out, "records")
		time.Sleep(50 * time.Millisecond) // not at the ticks of progress itself
		for i := range int64(250) {       // 25 s
			time.Sleep(100 * time.Millisecond)
			p.stage("records", i*10, 5000)
		}
		for range 30 { // and one part of the work more
			time.Sleep(time.Second)
			p.stage(bytesDone, 1<<20, 0)
		}
		p.end()
		want := []string{
			"980 of 5000 records (19 %), 98 a second, 41 s left",
			"1980 of 5000 records (39 %), 99 a second, 30 s left",
			"2490 of 5000 records in 26 s, 96 a second",
			"1.0 MiB, 0 B a second", // nothing moves
			"1.0 MiB, 0 B a second",
			"1.0 MiB in 29 s, 35.3 KiB a second",
		}
		got := strings.Split(strings.TrimSpace(out.String()), "\n")
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				t.Fatalf("told:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	})
}

func TestABarFitsIntoAnyTerminal(t *testing.T) {
	p := &progress{unit: "flushes staged", total: 1 << 40, done: 1 << 39}
	p.older.at = time.Now().Add(-time.Minute)
	for width := range 200 {
		if text := p.bar(time.Now(), width); len(text) >= max(width, 1) {
			t.Errorf("%d cells for %d: %q", len(text), width, text)
		}
	}
}
