package top_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"flowgraph/flows"
	"flowgraph/internal/web"
	"flowgraph/internal/web/webtest"
	"flowgraph/internal/webclient"
)

// fake is a worker made up of numbers that notes what it is asked for.
type fake struct {
	*webtest.Worker
	web.Control // what is not asked here
	asked       []string
}

// Flush notes what it is asked for.
func (f *fake) Flush(_ context.Context, s flows.Selector, _ bool) (flows.Outcome, error) {
	f.Change(func() { f.asked = append(f.asked, "flush "+s.VChannels[0]) })
	return flows.Outcome{VChannels: []flows.Asked{{VChannel: s.VChannels[0], Done: true, Segments: 2, Rows: 35}}}, nil
}

// Pause notes what it is asked for, and shows it.
func (f *fake) Pause(_ context.Context, s flows.Selector, by string) (flows.Outcome, error) {
	f.Change(func() {
		f.asked = append(f.asked, "pause "+s.VChannels[0])
		f.Now.VChannels[0].State, f.Now.VChannels[0].Pause = "paused", &flows.Pause{Since: time.Now(), By: by}
	})
	return flows.Outcome{VChannels: []flows.Asked{{VChannel: s.VChannels[0], Done: true}}}, nil
}

// token is what the API asks for; a worker that has none takes no orders from
// everywhere.
const token = "sesame"

// client serves the worker and returns what asks it.
func (f *fake) client(t *testing.T) *webclient.Client {
	t.Helper()
	address := f.Serve(t, web.Options{Control: f, Access: web.Access{Token: func() string { return token }}})
	c, err := webclient.New(address, token, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// newFake has vchannels log_0-0, log_1-0, ... Offsets of all of them: read
// from 300, seek position 400, read 900, log end 1000.
func newFake(vchannels int) *fake {
	f, now := &fake{Worker: webtest.New()}, time.Now()
	for i := range vchannels {
		name := fmt.Sprintf("log_%d-0", i)
		pinning := fmt.Sprint(7000 + i)
		f.Now.VChannels = append(f.Now.VChannels, flows.FlowStatus{
			VChannel: name, Topic: fmt.Sprintf("log_%d", i), State: "running", Epoch: 2, ReadFrom: 300, Seek: 400, Read: 900, LogEnd: 1000,
			Lag: int64(600 + i), Segments: 2, Buffered: int64(100 - i), SeekTime: now.Add(-8 * time.Second),
			Held: &flows.Held{By: "buffer", Segment: pinning, Offset: 400, Text: "it has rows in the buffer"},
		})
		f.Now.Segments = append(f.Now.Segments, flows.SegmentStatus{
			VChannel: name, ID: pinning, Collection: "books", Partition: "_default", Level: "L1", State: "normal", Rows: 1234, Bytes: 5 << 20,
			FlushingRows: 20, BufferedRows: 30, Start: at(0), PersistedEnd: at(400), Position: at(400), FlushingEnd: at(600), BufferedEnd: at(900), Pins: true,
		}, flows.SegmentStatus{
			VChannel: name, ID: fmt.Sprint(8000 + i), Collection: "books", Partition: "(all)", Level: "L0", State: "new",
			BufferedRows: 5, Start: at(700), Position: at(700), BufferedEnd: at(900),
		})
		f.Tell(flows.Event{Kind: "flush", VChannel: name, Segment: pinning, Collection: "books", Partition: "_default", Level: "L1", Reason: "buffer_full", Rows: 1234, Bytes: 5 << 20, Offset: at(400)})
	}
	return f
}

func at(n int64) *int64 { return &n }
