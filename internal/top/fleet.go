package top

import (
	"context"
	"fmt"
	"sync"
	"time"

	"flowgraph/flows"
	"flowgraph/internal/web"
	"flowgraph/internal/webclient"
)

const (
	every      = time.Second // between two looks at a worker
	patience   = 5 * time.Second
	eventsKept = 400
	segments   = 400 // asked for, of the vchannel that is shown
)

// sight is what one worker said last. It is not changed once it is made.
type sight struct {
	worker   int // its number in the fleet
	address  string
	answered bool // ever
	state    web.Overview
	channels []flows.FlowStatus
	events   []flows.Event // newest first
	last     uint64        // event
	one      *web.OneVChannel
	err      error // why it does not answer now
	gone     time.Time
}

// watched asks one worker again and again.
type watched struct {
	client *webclient.Client
	now    sight // its own goroutine's alone while it watches
	wake   chan struct{}

	mu   sync.Mutex
	want string // the vchannel of which everything is shown
}

// show has everything of this vchannel asked for from now on; "" for none.
func (w *watched) show(vchannel string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.want == vchannel {
		return
	}
	w.want = vchannel
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *watched) wanted() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.want
}

// watch hands on what the worker says until the context ends. A worker that
// is away is asked on; what it said last stays.
func (w *watched) watch(ctx context.Context, to chan<- sight) {
	for {
		w.look(ctx)
		select {
		case to <- w.now:
		case <-ctx.Done():
			return
		}
		next := time.NewTimer(every)
		select {
		case <-next.C:
		case <-w.wake:
		case <-ctx.Done():
		}
		next.Stop()
	}
}

// look asks once.
func (w *watched) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	next, err := w.ask(ctx)
	if err == nil {
		w.now = next
		return
	}
	if w.now.err == nil {
		w.now.gone = time.Now()
	}
	w.now.err = err
}

// ask makes a new sight. Where one vchannel has left the worker meanwhile,
// only its figure is missing.
func (w *watched) ask(ctx context.Context) (sight, error) {
	s := sight{worker: w.now.worker, address: w.now.address, answered: true}
	var err error
	if s.state, err = w.client.Worker(ctx); err != nil {
		return s, err
	}
	if s.channels, err = w.client.VChannels(ctx); err != nil {
		return s, err
	}
	news, err := w.client.Events(ctx, w.now.last, eventsKept)
	if err == nil && news.Last < w.now.last { // another process: all that it remembers
		w.now.events = nil
		news, err = w.client.Events(ctx, 0, eventsKept)
	}
	if err != nil {
		return s, err
	}
	s.last = news.Last
	for i := len(news.Events) - 1; i >= 0; i-- {
		s.events = append(s.events, news.Events[i])
	}
	s.events = append(s.events, w.now.events...)
	s.events = s.events[:min(len(s.events), eventsKept)]
	return s, w.askOne(ctx, &s)
}

func (w *watched) askOne(ctx context.Context, s *sight) error {
	name := w.wanted()
	for i := range s.channels {
		if s.channels[i].VChannel == name {
			one, err := w.client.VChannel(ctx, name, segments)
			if err != nil {
				return fmt.Errorf("vchannel %s: %w", name, err)
			}
			s.one = &one
		}
	}
	return nil
}

// fleet is all workers that are watched.
type fleet []*watched

func newFleet(clients []*webclient.Client) fleet {
	f := make(fleet, len(clients))
	for i, c := range clients {
		f[i] = &watched{client: c, wake: make(chan struct{}, 1), now: sight{worker: i, address: c.Address()}}
	}
	return f
}

// watch begins to watch all. The function that it returns ends that and waits.
func (f fleet) watch(ctx context.Context) (<-chan sight, func()) {
	ctx, cancel := context.WithCancel(ctx)
	to := make(chan sight)
	var all sync.WaitGroup
	for _, w := range f {
		all.Go(func() { w.watch(ctx, to) })
	}
	return to, func() { cancel(); all.Wait() }
}
