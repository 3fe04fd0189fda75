package top

import (
	"context"
	"fmt"
	"sync"

	"flowgraph/flows"
	"flowgraph/internal/web"
	"flowgraph/internal/webclient"
)

// deed is something that a worker is asked to do with one vchannel.
type deed struct {
	place
	key rune // that stands for it
}

// want notes what a key asks for. A pause has to be confirmed: rows come late
// by it, and are lost if it outlasts what Kafka keeps.
func (v *view) want(key rune) {
	s, one := v.one()
	switch {
	case one == nil:
		return
	case !s.state.Control.Allowed:
		v.notice = "this worker takes no orders: " + s.state.Control.Why
		return
	}
	d := &deed{v.selected, key}
	if key == 'p' {
		v.doubt = d
		return
	}
	v.wanted = d
}

// doer asks workers, and says what came of it.
type doer struct {
	fleet fleet
	said  chan string
	all   sync.WaitGroup
}

func (d *doer) begin(ctx context.Context, what deed) {
	d.all.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, 3*patience)
		defer cancel()
		text := what.vchannel + ": " + what.do(ctx, d.fleet[what.worker].client)
		select {
		case d.said <- text:
		case <-ctx.Done():
		}
	})
}

// do asks the worker and tells the outcome in words.
func (d deed) do(ctx context.Context, c *webclient.Client) string {
	r := web.Request{Selector: flows.Selector{VChannels: []string{d.vchannel}}}
	var out flows.Outcome
	var err error
	done := ""
	switch d.key {
	case 'f':
		out, err = c.Flush(ctx, r)
	case 'p':
		done = "reading is paused"
		out, err = c.Pause(ctx, r)
	case 'r':
		done = "it is read again"
		out, err = c.Resume(ctx, r)
	}
	if err != nil {
		return err.Error()
	}
	for i := range out.VChannels {
		a := &out.VChannels[i]
		switch {
		case a.Error != "":
			return a.Error
		case !a.Done:
			return "asked; it is done as soon as the flow gets to it"
		case done == "" && a.Segments == 0:
			return "nothing is buffered"
		case done == "":
			return fmt.Sprintf("%s of %s on their way to the store", plural(int(a.Rows), "row"), plural(a.Segments, "segment"))
		}
	}
	return done
}
