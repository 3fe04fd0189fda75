package flows

import (
	"context"
	"time"

	"github.com/reugn/go-streams"
	"github.com/reugn/go-streams/flow"

	"flowgraph/checkpoints"
	"flowgraph/stages"
)

// idleEvery is how long a log may be silent before the flow is told that time
// passes.
const idleEvery = time.Second

// source emits what the mailbox holds, Idle batches while it holds nothing,
// and one Drain batch as its last element on a graceful stop. It implements
// streams.Source.
type source struct {
	ctx     context.Context // kill: it emits nothing more
	stop    context.Context // drain
	mailbox *Mailbox
	until   int64 // next offset at which to drain; -1: never
	next    int64
	out     chan any
}

var _ streams.Source = (*source)(nil)

func newSource(ctx, stop context.Context, m *Mailbox, from checkpoints.Position, until int64) *source {
	s := &source{ctx: ctx, stop: stop, mailbox: m, until: until, next: from.Offset, out: make(chan any)}
	go s.run()
	return s
}

func (s *source) Out() <-chan any { return s.out }

func (s *source) Via(f streams.Flow) streams.Flow {
	flow.DoStream(s, f)
	return f
}

func (s *source) run() {
	defer close(s.out)
	timer := time.NewTimer(idleEvery)
	defer timer.Stop()
	for s.until < 0 || s.next < s.until {
		if s.stop.Err() != nil {
			break
		}
		raw := s.mailbox.take()
		if raw == nil {
			select {
			case <-s.mailbox.wake:
				continue
			case <-timer.C:
				raw = &stages.Raw{Signal: stages.Idle}
			case <-s.stop.Done():
				continue
			case <-s.ctx.Done():
				return
			}
		}
		if !s.emit(raw) {
			return
		}
		timer.Reset(idleEvery)
	}
	s.mailbox.close()
	s.emit(&stages.Raw{Signal: stages.Drain})
}

// emit sends one batch, cut off at the offset where this flow ends.
func (s *source) emit(raw *stages.Raw) bool {
	if n := len(raw.Records); n > 0 {
		if s.until >= 0 {
			for n > 0 && raw.Records[n-1].Offset >= s.until {
				n--
			}
		}
		if n < len(raw.Records) {
			s.next = s.until
		} else {
			s.next = checkpoints.After(raw.Records[n-1].Offset)
		}
		raw.Records = raw.Records[:n]
	}
	raw.Now = time.Now().UnixMilli()
	select {
	case s.out <- raw:
		return true
	case <-s.ctx.Done():
		return false
	}
}
