package explore

import (
	"context"
	"errors"
	"iter"

	"flowgraph/checkpoints"
	"flowgraph/sinks"
)

// vchannel is the log of a script as Kafka knows it.
func (s *script) vchannel() checkpoints.VChannel {
	return checkpoints.VChannel{Topic: topic, Partition: 0, TopicID: s.topicID}
}

// newLog goes on with the part of the script that follows the creation of the
// topic anew: the old log is gone, its worker dies, and the operator accepts
// the new one. Those that are held back of the old log stay: what they do
// later must have no effect.
func (w *world) newLog() {
	if l := w.living(); l != nil {
		l.die()
		<-l.ended
	}
	w.tell("> %s is created anew", topic)
	w.mu.Lock()
	w.script, w.produced, w.fetched, w.current = w.script.then, 0, 0, nil
	w.mu.Unlock()
	w.acceptLog()
}

// acceptLog is the operator's command, first broken off at each of its calls,
// before and after that took effect.
func (w *world) acceptLog() {
	for calls := range 1000 {
		for _, effect := range []bool{false, true} {
			b := &brokenOff{Bucket: w.bucket, left: calls, effect: effect}
			compound := func(ctx context.Context, s *checkpoints.Segment, meta map[string]string) error {
				return sinks.PutCompound(ctx, b, s, meta)
			}
			_, err := checkpoints.AcceptLog(context.Background(), b, w.script.vchannel(), 0, compound)
			if errors.Is(err, errBroken) {
				continue
			}
			// Broken off after its last call it was done already.
			if err != nil && !errors.Is(err, checkpoints.ErrSameLog) {
				w.fail("accept-log: %v", err)
			}
			w.tell("accept-log was broken off at each of %d calls", calls)
			return
		}
	}
	w.fail("accept-log does not come to an end")
}

// brokenOff is a bucket that fails from its left-th call on.
type brokenOff struct {
	checkpoints.Bucket
	left   int
	effect bool // the call at which it breaks takes effect
}

// call says whether a call may be made, and what its caller is told.
func (b *brokenOff) call() (bool, error) {
	b.left--
	switch {
	case b.left >= 0:
		return true, nil
	case b.left == -1:
		return b.effect, errBroken
	}
	return false, errBroken
}

func (b *brokenOff) Put(ctx context.Context, key string, o checkpoints.Object, c checkpoints.Condition) (info checkpoints.Info, err error) {
	made, broken := b.call()
	if made {
		info, err = b.Bucket.Put(ctx, key, o, c)
	}
	return info, errors.Join(broken, err)
}

func (b *brokenOff) Get(ctx context.Context, key string) ([]byte, checkpoints.Info, error) {
	if _, broken := b.call(); broken != nil {
		return nil, checkpoints.Info{}, broken
	}
	return b.Bucket.Get(ctx, key)
}

func (b *brokenOff) Stat(ctx context.Context, key string) (checkpoints.Info, error) {
	if _, broken := b.call(); broken != nil {
		return checkpoints.Info{}, broken
	}
	return b.Bucket.Stat(ctx, key)
}

func (b *brokenOff) List(ctx context.Context, prefix string) iter.Seq2[checkpoints.Info, error] {
	if _, broken := b.call(); broken != nil {
		return func(yield func(checkpoints.Info, error) bool) { yield(checkpoints.Info{}, broken) }
	}
	return b.Bucket.List(ctx, prefix)
}

// last is the part of the script whose log is there in the end.
func (s *script) last() *script {
	for s.then != nil {
		s = s.then
	}
	return s
}
