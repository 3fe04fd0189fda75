package top

import (
	"context"
	"sync"

	"github.com/gdamore/tcell/v2"

	"flowgraph/internal/webclient"
)

// Options say how it is shown.
type Options struct {
	VChannel string // to begin with; "": the one most in trouble
	Colors   bool
}

// Terminal opens the terminal of this process.
func Terminal() (tcell.Screen, error) { return tcell.NewScreen() }

// Run shows the workers on a screen until the user quits or the context ends.
// It opens and closes the screen.
func Run(ctx context.Context, screen tcell.Screen, clients []*webclient.Client, o Options) error {
	if err := screen.Init(); err != nil {
		return err
	}
	defer screen.Fini()
	f := newFleet(clients)
	sights, end := f.watch(ctx)
	defer end()
	d := doer{fleet: f, said: make(chan string)}
	ctx, cancel := context.WithCancel(ctx)
	defer d.all.Wait()
	defer cancel()
	events, quiet := listen(screen)
	defer quiet()

	v := &view{selected: place{0, o.VChannel}}
	for i, w := range f {
		v.sights = append(v.sights, sight{worker: i, address: w.client.Address()})
	}
	for {
		f.show(v.selected)
		if v.wanted != nil {
			d.begin(ctx, *v.wanted)
			v.wanted = nil
		}
		draw(screen, v, o.Colors)
		select {
		case <-ctx.Done():
			return nil
		case s := <-sights:
			v.sights[s.worker] = s
			if v.ready() { // not before all are known: the worst is selected
				v.settle()
			}
		case v.notice = <-d.said:
		case e := <-events:
			if v.handle(screen, e) {
				return nil
			}
		}
	}
}

// listen hands on the screen's events; the function that it returns ends that
// and waits.
func listen(screen tcell.Screen) (<-chan tcell.Event, func()) {
	events, quit := make(chan tcell.Event), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() { screen.ChannelEvents(events, quit) })
	return events, func() { close(quit); all.Wait() }
}

// show has the figure of one vchannel asked for, and of no other.
func (f fleet) show(p place) {
	for i, w := range f {
		if i == p.worker {
			w.show(p.vchannel)
		} else {
			w.show("")
		}
	}
}

// handle does what an event asks for; true: quit.
func (v *view) handle(screen tcell.Screen, e tcell.Event) bool {
	switch e := e.(type) {
	case *tcell.EventResize:
		screen.Sync()
	case *tcell.EventKey:
		return v.key(e)
	}
	return false
}

// draw puts a frame on the screen; only cells that differ are sent.
func draw(screen tcell.Screen, v *view, colors bool) {
	width, height := screen.Size()
	screen.Clear()
	screen.HideCursor()
	for y, l := range v.frame(width, height) {
		x := 0
		for _, s := range l {
			screen.PutStrStyled(x, y, s.text, style(s.mark, colors))
			x += cells(s.text)
		}
	}
	screen.Show()
}

// style is how a mark looks.
func style(m mark, colors bool) tcell.Style {
	s := tcell.StyleDefault
	switch m {
	case dim:
		s = s.Dim(true)
	case strong, bad, seekMark:
		s = s.Bold(true)
	case chosen:
		s = s.Reverse(true)
	}
	if !colors {
		return s
	}
	color := map[mark]tcell.Color{
		good: tcell.ColorGreen, warn: tcell.ColorOlive, bad: tcell.ColorMaroon,
		persistedMark: tcell.ColorGreen, flyingMark: tcell.ColorOlive, bufferedMark: tcell.ColorTeal, seekMark: tcell.ColorPurple,
	}
	if c, ok := color[m]; ok {
		s = s.Foreground(c)
	}
	return s
}
