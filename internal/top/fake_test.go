package top_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"flowgraph/flows"
	"flowgraph/internal/web"
	"flowgraph/internal/webclient"
	"flowgraph/sinks"
)

// fake is a worker made up of numbers, behind the API of a real one.
type fake struct {
	web.Worker  // what is not asked here
	web.Control // the same
	asked       []string
	away        atomic.Bool
	mu          sync.Mutex
	now         flows.Picture
	happened    []flows.Event
	store       sinks.Waiting
}

func (f *fake) Look(context.Context) *flows.Picture {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.now
	p.At = time.Now()
	return &p
}

func (f *fake) Events(after uint64, _ int) flows.Events {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := flows.Events{Last: uint64(len(f.happened))}
	for _, e := range f.happened {
		if e.Seq > after {
			out.Events = append(out.Events, e)
		}
	}
	return out
}

func (f *fake) Waiting() sinks.Waiting {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.store
}

// Flush notes what it is asked for.
func (f *fake) Flush(_ context.Context, s flows.Selector, _ bool) (flows.Outcome, error) {
	f.change(func(f *fake) { f.asked = append(f.asked, "flush "+s.VChannels[0]) })
	return flows.Outcome{VChannels: []flows.Asked{{VChannel: s.VChannels[0], Done: true, Segments: 2, Rows: 35}}}, nil
}

// Pause notes what it is asked for, and shows it.
func (f *fake) Pause(_ context.Context, s flows.Selector, by string) (flows.Outcome, error) {
	f.change(func(f *fake) {
		f.asked = append(f.asked, "pause "+s.VChannels[0])
		f.now.VChannels[0].State, f.now.VChannels[0].Pause = "paused", &flows.Pause{Since: time.Now(), By: by}
	})
	return flows.Outcome{VChannels: []flows.Asked{{VChannel: s.VChannels[0], Done: true}}}, nil
}

// change makes another picture: the one before may be in use.
func (f *fake) change(edit func(*fake)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now.VChannels = append([]flows.FlowStatus{}, f.now.VChannels...)
	f.now.Segments = append([]flows.SegmentStatus{}, f.now.Segments...)
	edit(f)
}

// token is what the API asks for; a worker that has none takes no orders from
// everywhere.
const token = "sesame"

// client serves the worker and returns what asks it.
func (f *fake) client(t *testing.T) *webclient.Client {
	t.Helper()
	api := web.Handler(web.Options{Access: web.Access{Token: func() string { return token }}, Worker: f, Control: f, Store: f, Metrics: prometheus.NewRegistry(), Log: zerolog.Nop()})
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if f.away.Load() {
			http.Error(rw, "nobody is here", http.StatusBadGateway)
			return
		}
		api.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	c, err := webclient.New(server.URL, token, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// newFake has vchannels log_0-0, log_1-0, ... Offsets of all of them: read
// from 300, seek position 400, read 900, log end 1000.
func newFake(vchannels int) *fake {
	f := &fake{store: sinks.Waiting{Store: "http://127.0.0.1:9000/a-bucket"}}
	now := time.Now()
	f.now.Worker = flows.WorkerStatus{
		Started: now.Add(-time.Hour), Ready: true, Phase: "running", MemoryBudget: 1 << 30, MemoryUsed: 300 << 20,
		Kafka: flows.KafkaStatus{Brokers: []string{"127.0.0.1:9092"}, Group: "flowgraph", Topics: []string{"log.*"}},
	}
	for i := range vchannels {
		name := fmt.Sprintf("log_%d-0", i)
		pinning := fmt.Sprint(7000 + i)
		f.now.VChannels = append(f.now.VChannels, flows.FlowStatus{
			VChannel: name, Topic: fmt.Sprintf("log_%d", i), State: "running", Epoch: 2, ReadFrom: 300, Seek: 400, Read: 900, LogEnd: 1000,
			Lag: int64(600 + i), Segments: 2, Buffered: int64(100 - i), SeekTime: now.Add(-8 * time.Second),
			Held: &flows.Held{By: "buffer", Segment: pinning, Offset: 400, Text: "it has rows in the buffer"},
		})
		f.now.Segments = append(f.now.Segments, flows.SegmentStatus{
			VChannel: name, ID: pinning, Collection: "books", Partition: "_default", Level: "L1", State: "normal", Rows: 1234, Bytes: 5 << 20,
			FlushingRows: 20, BufferedRows: 30, Start: at(0), PersistedEnd: at(400), Position: at(400), FlushingEnd: at(600), BufferedEnd: at(900), Pins: true,
		}, flows.SegmentStatus{
			VChannel: name, ID: fmt.Sprint(8000 + i), Collection: "books", Partition: "(all)", Level: "L0", State: "new",
			BufferedRows: 5, Start: at(700), Position: at(700), BufferedEnd: at(900),
		})
		f.tell(flows.Event{Kind: "flush", VChannel: name, Segment: pinning, Collection: "books", Partition: "_default", Level: "L1", Reason: "buffer_full", Rows: 1234, Bytes: 5 << 20, Offset: at(400)})
	}
	return f
}

func (f *fake) tell(e flows.Event) {
	e.Seq, e.At = uint64(len(f.happened)+1), time.Now()
	f.happened = append(f.happened, e)
}

func at(n int64) *int64 { return &n }
