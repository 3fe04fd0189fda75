package sinks

import (
	"context"
	"crypto/rand"
	"fmt"

	"flowgraph/checkpoints"
)

// Probe tries out, on a key of its own that it removes again, what a flow must
// be able to rely on: that the store can be reached and written to, that it
// honours both conditions and that it keeps checksums. Each failure is a
// sentence that says what to do.
func (b *Bucket) Probe(ctx context.Context) error {
	p := &probe{b: b, key: "checkpoints/.probe-" + rand.Text()}
	err := p.run(ctx)
	if !p.stored {
		return err
	}
	if rerr := p.remove(ctx); rerr != nil {
		b.log.Warn().Err(rerr).Str("key", p.key).Msg("the probe's object could not be removed; it does no harm")
	}
	return err
}

type probe struct {
	b      *Bucket
	key    string
	stored bool
	info   checkpoints.Info // of what was stored last
	text   string           // and what that is, "" if it is not known
}

// remove takes the probe's object away, also after a failure, and when the
// caller gave up.
func (p *probe) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.b.cfg.AttemptTimeout)
	defer cancel()
	return p.b.remove(ctx, p.task("remove"))
}

func (p *probe) task(op string) *task {
	return &task{op: op, key: p.key, waits: p.b.cfg.ProbeTries - 1}
}

// step is one thing to try, and what it shows when it works.
type step struct {
	what, found string
	do          func(context.Context) error
}

func (p *probe) steps() []step {
	return []step{
		{"put", "objects can be written", p.create},
		{"create-only put", "a second one is refused (If-None-Match: *)", p.createOnly},
		{"conditional put", "an older version is refused, the right one replaced (If-Match)", p.replace},
		{"get", "what is written can be read", p.kept},
	}
}

func (p *probe) run(ctx context.Context) error {
	for _, s := range p.steps() {
		if err := s.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (p *probe) create(ctx context.Context) error {
	if err := p.put(ctx, "first", ""); err != nil {
		return p.unusable(ctx, err)
	}
	return nil
}

func (p *probe) createOnly(ctx context.Context) error {
	if err := p.put(ctx, "second", ""); !conditionFailed(err) {
		return p.condition("If-None-Match: *", "a second put of a new object", err)
	}
	return nil
}

func (p *probe) replace(ctx context.Context) error {
	stale := "00000000000000000000000000000000"
	if err := p.put(ctx, "third", stale); !conditionFailed(err) {
		return p.condition("If-Match", "a put that expects another version", err)
	}
	if err := p.put(ctx, "fourth", p.info.ETag); err != nil {
		return fmt.Errorf("object store %s: it refuses to replace the version that is stored (If-Match with the right ETag), which every commit needs: "+
			"use a store with conditional writes, such as MinIO or AWS S3: %w", p.b.name, err)
	}
	return nil
}

// put sends one object. Other than a flow it does not wait for ever: it
// gives up, so that a wrong setting is told at the start.
func (p *probe) put(ctx context.Context, text, etag string) error {
	t := p.task("put")
	u := p.b.newUpload(t, checkpoints.Object{Parts: [][]byte{[]byte(p.key), []byte(text)}}, etag)
	defer u.payload.reading.Wait()
	info, err := retry(ctx, p.b, t, func(ctx context.Context) (checkpoints.Info, error) {
		info, _, err := u.send(ctx)
		if conditionFailed(err) {
			err = fmt.Errorf("%w: %w", checkpoints.ErrConflict, err) // the answer that is asked for: final
		}
		return info, err
	})
	switch {
	case err == nil:
		p.stored, p.info, p.text = true, info, text
	case !conditionFailed(err):
		p.text = ""
	}
	return err
}

func (p *probe) condition(header, what string, err error) error {
	if err == nil {
		return fmt.Errorf("object store %s: it ignores %s (%s was accepted), so two workers could overwrite each other: "+
			"use a store with conditional writes, such as MinIO or AWS S3, and no proxy that drops the header", p.b.name, header, what)
	}
	return fmt.Errorf("object store %s: %s with %s failed in an unexpected way; conditional writes are needed, "+
		"use a store that has them, such as MinIO or AWS S3: %w", p.b.name, what, header, err)
}

// kept reads the probe's object back.
func (p *probe) kept(ctx context.Context) error {
	t := p.task("stat")
	s, err := retry(ctx, p.b, t, func(ctx context.Context) (stored, error) { return p.b.stat(ctx, t) })
	if err != nil {
		return fmt.Errorf("object store %s: what was written cannot be read; allow GetObject and ListBucket to these keys: %w", p.b.name, err)
	}
	if p.text == "" {
		return nil
	}
	o := checkpoints.Object{Parts: [][]byte{[]byte(p.key), []byte(p.text)}}
	same, known := digestOf(p.b.cfg.Checksum, o).compare(s.sums, s.ETag)
	switch {
	case s.Size != o.Size(), known && !same:
		return fmt.Errorf("object store %s: it gives back other bytes than it was given (%d of %d): it cannot be used", p.b.name, s.Size, o.Size())
	case !known && (p.b.cfg.Checksum == CRC32C || p.b.cfg.Checksum == SHA256):
		return fmt.Errorf("object store %s: it accepts a checksum (%s) but does not keep it, so nothing shows that it checked it: "+
			"set checksum to md5, or to none", p.b.name, p.b.cfg.Checksum)
	}
	return nil
}
