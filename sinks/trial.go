package sinks

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"flowgraph/checkpoints"
)

// Trial is one thing that a worker needs of the store, tried out: what was
// found, or an error whose sentence says what to do.
type Trial struct {
	What, Found string
	Err         error
}

// Try tries out everything that a worker does to the store, as Probe does on
// a key of its own, but tells of each step and goes on where it can. Nothing
// is left behind unless a trial says so.
func (b *Bucket) Try(ctx context.Context) []Trial {
	p := &probe{b: b, key: "checkpoints/.probe-" + rand.Text()}
	out := []Trial{{"bucket", b.name + " answers", nil}}
	switch err := p.list(ctx); {
	case err != nil && p.denied(ctx, err):
		out = append(out, Trial{"list", "", fmt.Errorf("the keys may not list the bucket: allow ListBucket on it, not bound to a prefix: %w", err)})
	case err != nil:
		return []Trial{{"bucket", "", p.unusable(ctx, err)}}
	default:
		out = append(out, Trial{"list", fmt.Sprintf("keys under %q can be listed", b.prefix), nil})
	}
	for _, s := range p.steps() {
		err := s.do(ctx)
		out = append(out, Trial{s.what, s.found, err})
		if err != nil && s.what == "put" {
			return out // nothing to go on with
		}
	}
	return append(out, p.away(ctx))
}

// list asks for keys, of which there are none.
func (p *probe) list(ctx context.Context) error {
	t := &task{op: "list", key: "checkpoints/", waits: p.b.cfg.ProbeTries - 1}
	_, err := retry(ctx, p.b, t, func(ctx context.Context) ([]checkpoints.Info, error) {
		return p.b.page(ctx, t, "checkpoints/.none", "")
	})
	return err
}

// denied says that the store knows our keys and forbids what was asked.
func (p *probe) denied(ctx context.Context, err error) bool {
	var a *answer
	return errors.As(err, &a) && a.code == "AccessDenied" && !p.b.anonymous(ctx)
}

// away removes the object also when the caller gave up.
func (p *probe) away(ctx context.Context) Trial {
	if err := p.remove(ctx); err != nil {
		return Trial{"delete", "", fmt.Errorf("the probe's object could not be removed: allow DeleteObject on %scheckpoints/.probe-*, and remove %s%s: %w",
			p.b.prefix, p.b.prefix, p.key, err)}
	}
	return Trial{"delete", "the probe's object is gone", nil}
}
