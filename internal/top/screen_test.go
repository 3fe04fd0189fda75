package top_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"

	"flowgraph/flows"
	"flowgraph/internal/top"
	"flowgraph/internal/webclient"
	"flowgraph/sinks"
)

// terminal is a screen of cells in memory, and what is shown on it.
type terminal struct {
	*opening
	t *testing.T
}

// begin runs the view on a screen of this size, until the test quits it.
func begin(t *testing.T, width, height int, clients ...*webclient.Client) *terminal {
	t.Helper()
	s := &terminal{&opening{SimulationScreen: tcell.NewSimulationScreen("UTF-8"), width: width, height: height, ready: make(chan struct{})}, t}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- top.Run(ctx, s.opening, clients, top.Options{}) }()
	<-s.ready
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

// opening gives the screen its size once it is open: a simulated one has none
// before. It keeps what was shown last: the cells themselves are drawn over.
type opening struct {
	tcell.SimulationScreen
	width, height int
	ready         chan struct{}

	mu    sync.Mutex
	shown string
}

func (o *opening) Init() error {
	defer close(o.ready)
	err := o.SimulationScreen.Init()
	o.SetSize(o.width, o.height)
	return err
}

func (o *opening) Show() {
	o.SimulationScreen.Show()
	cells, width, _ := o.GetContents()
	var b strings.Builder
	for i, c := range cells {
		if i > 0 && i%width == 0 {
			b.WriteByte('\n')
		}
		if len(c.Runes) == 0 {
			b.WriteByte(' ')
		}
		b.WriteString(string(c.Runes))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shown = b.String()
}

func (o *opening) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.shown
}

// until waits for what the screen is to show.
func (s *terminal) until(why string, words ...string) string {
	s.t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		text := s.text()
		all := true
		for _, w := range words {
			w, not := strings.CutPrefix(w, "no: ")
			all = all && strings.Contains(text, w) != not
		}
		if all {
			return text
		}
		select {
		case <-look.C:
		case <-deadline.C:
			s.t.Fatalf("%s: no %q on\n%s", why, words, text)
		}
	}
}

func (s *terminal) press(keys string) {
	for _, r := range keys {
		switch r {
		case '\n':
			s.InjectKey(tcell.KeyEnter, 0, 0)
		case '\x1b':
			s.InjectKey(tcell.KeyEscape, 0, 0)
		case '↓':
			s.InjectKey(tcell.KeyDown, 0, 0)
		case '\t':
			s.InjectKey(tcell.KeyTab, 0, 0)
		default:
			s.InjectKey(tcell.KeyRune, r, 0)
		}
	}
}

func TestTheFigureShowsWhatIsPersistedOnItsWayAndBuffered(t *testing.T) {
	for _, size := range []struct{ width, height int }{{80, 24}, {200, 50}} {
		s := begin(t, size.width, size.height, newFake(3).client(t))
		text := s.until("the figure", "held back by p1", "segment 7000", "█ persisted", "SEGMENTS 2")
		var bar string
		for _, l := range strings.Split(text, "\n") {
			if strings.Contains(l, "p1  books/_default rows") {
				bar = l[strings.Index(l, "rows"):]
			}
		}
		persisted, flying, buffered := strings.Count(bar, "█"), strings.Count(bar, "»"), strings.Count(bar, "░")
		// 400, 200 and 300 of 1000 offsets.
		if persisted < flying+1 || buffered < flying || flying == 0 || strings.Index(bar, "»") < strings.Index(bar, "█") || strings.Index(bar, "░") < strings.LastIndex(bar, "»") {
			t.Errorf("%d cells persisted, %d on their way, %d buffered in %q", persisted, flying, buffered, bar)
		}
	}
}

func TestKeysSelectSortAndFilter(t *testing.T) {
	s := begin(t, 100, 40, newFake(12).client(t))
	s.until("the list", "VCHANNELS 12 by trouble", "segment 7000", "> log_0-0")
	s.press("↓")
	s.until("another vchannel", "> log_1-0", "segment 7001")
	s.press("ss")
	s.until("another order", "by buffered bytes", "> log_1-0")
	s.press("/_7")
	s.until("the filter", "VCHANNELS 1 of 12", "> log_7-0", "segment 7007", "Enter keeps")
	s.press("q\x1b")
	s.until("all are back", "VCHANNELS 12", "no: Enter keeps")
	s.press("?")
	s.until("help", "any key goes back", "╍")
	s.press("x\t")
	s.until("events", "EVENTS of this vchannel", "no: any key goes back")
	s.SetSize(60, 20)
	s.until("a smaller window", "VCHANNELS 12")
}

// Names come from whoever may write to Kafka.
func TestNamesCannotSteerTheTerminal(t *testing.T) {
	f := newFake(1)
	f.Change(func() {
		f.Now.Segments[0].Collection = "evil\x1b[31m[red]\x07\u202e"
		f.Now.VChannels[0].LastError = "x"
		f.Tell(flows.Event{Kind: "waiting", VChannel: "log_0-0", Error: "line\r\nline\u009b2J"})
	})
	s := begin(t, 160, 40, f.client(t))
	text := s.until("the name", "evil?[31m[red]??", "failed, tries again: line  line?2J")
	if i := strings.IndexAny(text, "\x1b\x07\u202e\r\u009b"); i >= 0 {
		t.Errorf("a control character at %d of %q", i, text)
	}
}

func TestAWorkerThatGoesAwayAndReturnsIsFollowed(t *testing.T) {
	f, other := newFake(2), newFake(1)
	s := begin(t, 120, 40, f.client(t), other.client(t))
	s.until("both", "2 workers", "VCHANNELS 3", "segment 7000")
	f.Away.Store(true)
	s.until("it is gone", "no answer", "The worker does not answer", "nobody is here", "What to do:")
	f.Change(func() { f.Told = nil; f.Tell(flows.Event{Kind: "running", VChannel: "log_0-0"}) })
	f.Away.Store(false)
	s.press("a\t")
	s.until("it is back", "no: no answer", "no: does not answer", "claimed")
}

func TestTroublesAreShownWithWhatToDo(t *testing.T) {
	f := newFake(3)
	since := time.Now()
	f.Change(func() {
		f.Stored.Calls, f.Stored.Since, f.Stored.Reason, f.Stored.Code = 2, since, "Access Denied.", "AccessDenied"
		for i := range f.Now.VChannels {
			f.Now.VChannels[i].State, f.Now.VChannels[i].Error, f.Now.VChannels[i].Advice = "stopped", "bad record", "look at it"
		}
		f.Now.Worker.Kafka.Error, f.Now.Worker.Kafka.Advice = "no topic", "make one"
	})
	s := begin(t, 120, 60, f.client(t))
	s.until("all of it", "3 stopped", "! 3 vchannels are stopped: it waits for you", "What to do: look at it",
		"! 2 calls wait for the object store http://127.0.0.1:9000/a-bucket", "is the bucket read-only", "What to do: make one")
}

func TestAPauseIsAskedForOnlyAfterAYes(t *testing.T) {
	f := newFake(2)
	s := begin(t, 120, 40, f.client(t))
	s.until("the figure", "segment 7000")
	s.press("p")
	s.until("a question", "pause the reading of log_0-0?")
	s.press("n")
	s.until("no question", "no: pause the reading of")
	s.press("f")
	s.until("the outcome", "log_0-0: 35 rows of 2 segments on their way")
	s.press("p")
	s.until("a question", "pause the reading of log_0-0?")
	s.press("y")
	s.until("it is paused", "log_0-0: reading is paused", "Reading is paused since", "1 paused")
	f.Change(func() {
		if asked := strings.Join(f.asked, ", "); asked != "flush log_0-0, pause log_0-0" {
			t.Errorf("asked for: %s", asked)
		}
	})
}

func TestOneFrameIsPlainText(t *testing.T) {
	f := newFake(2)
	var out strings.Builder
	if err := top.Once(t.Context(), &out, []*webclient.Client{f.client(t)}, "log_1-0", 100); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"running", "> log_1-0", "  log_0-0", "segment 7001", "p1  books/_default rows", "SEGMENTS 2", "buffer_full", "│"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	f.Away.Store(true)
	f.Stored = sinks.Waiting{}
	out.Reset()
	if err := top.Once(t.Context(), &out, []*webclient.Client{f.client(t)}, "", 100); !errors.Is(err, top.ErrNoAnswer) || !strings.Contains(out.String(), "nobody is here") {
		t.Errorf("%v:\n%s", err, &out)
	}
}
