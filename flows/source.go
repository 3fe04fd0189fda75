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
// passes, and how long a little of it waits for more: time ticks alone, five a
// second in every partition, would cost most of what a worker does.
const (
	idleEvery   = time.Second
	littleBytes = 32 << 10
)

// source emits what the mailbox holds, a little of it only once in a while,
// Idle batches while it holds nothing, and one Drain batch as its last element
// on a graceful stop. It implements streams.Source.
type source struct {
	ctx     context.Context // kill: it emits nothing more
	stop    context.Context // drain
	mailbox *Mailbox
	until   int64 // next offset at which to drain; -1: never
	enough  int64 // bytes that do not wait for more
	next    checkpoints.Position
	same    func(ctx context.Context, at checkpoints.Position, epoch int32) error // whether records of a leader follow here
	fail    context.CancelCauseFunc
	out     chan any
}

var _ streams.Source = (*source)(nil)

func (f *Flow) newSource(r *run, stop context.Context) *source {
	s := &source{
		ctx: r.ctx, fail: r.fail, stop: stop, mailbox: r.mailbox, until: f.Until, next: r.from, same: f.succession(furthest(r.doc)), out: make(chan any),
	}
	if s.until < 0 {
		s.enough = littleBytes
	}
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
	enough := int64(0) // the first after a silence is not waited for
	for s.until < 0 || s.next.Offset < s.until {
		if s.stop.Err() != nil {
			break
		}
		raw := s.mailbox.take(enough)
		if raw == nil {
			select {
			case <-s.mailbox.wake:
				continue
			case <-timer.C:
				timer.Reset(idleEvery)
				enough = 0
				if raw = s.mailbox.take(enough); raw == nil {
					raw = &stages.Raw{Signal: stages.Idle}
				}
			case <-s.stop.Done():
				continue
			case <-s.ctx.Done():
				return
			}
		}
		some := len(raw.Records) > 0
		if !s.emit(raw) {
			return
		}
		if some {
			timer.Reset(idleEvery)
			enough = s.enough
		}
	}
	s.mailbox.close()
	s.emit(&stages.Raw{Signal: stages.Drain})
}

// emit sends one batch, cut off at the offset where this flow ends.
func (s *source) emit(raw *stages.Raw) bool {
	if n := len(raw.Records); n > 0 {
		last := raw.Records[n-1]
		if err := s.same(s.ctx, s.next, last.LeaderEpoch); err != nil {
			s.fail(err)
			return false
		}
		if s.until >= 0 {
			for n > 0 && raw.Records[n-1].Offset >= s.until {
				n--
			}
		}
		if n < len(raw.Records) {
			s.next.Offset = s.until
		} else {
			s.next = checkpoints.Position{Offset: checkpoints.After(last.Offset), LeaderEpoch: last.LeaderEpoch}
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
