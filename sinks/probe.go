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
	// Also after a failure, and when the caller gave up.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.cfg.AttemptTimeout)
	defer cancel()
	if rerr := b.remove(ctx, p.task("remove")); rerr != nil {
		b.log.Warn().Err(rerr).Str("key", p.key).Msg("the probe's object could not be removed; it does no harm")
	}
	return err
}

type probe struct {
	b      *Bucket
	key    string
	stored bool
}

func (p *probe) task(op string) *task {
	return &task{op: op, key: p.key, waits: p.b.cfg.ProbeTries - 1}
}

func (p *probe) run(ctx context.Context) error {
	first, err := p.put(ctx, "first", "")
	if err != nil {
		return p.unusable(ctx, err)
	}
	p.stored = true
	if _, err := p.put(ctx, "second", ""); !conditionFailed(err) {
		return p.condition("If-None-Match: *", "a second put of a new object", err)
	}
	stale := "00000000000000000000000000000000"
	if _, err := p.put(ctx, "third", stale); !conditionFailed(err) {
		return p.condition("If-Match", "a put that expects another version", err)
	}
	if _, err := p.put(ctx, "fourth", first.ETag); err != nil {
		return fmt.Errorf("object store %s: it refuses to replace the version that is stored (If-Match with the right ETag), which every commit needs: "+
			"use a store with conditional writes, such as MinIO or AWS S3: %w", p.b.name, err)
	}
	return p.kept(ctx, "fourth")
}

// put sends one object. Other than a flow it does not wait for ever: it
// gives up, so that a wrong setting is told at the start.
func (p *probe) put(ctx context.Context, text, etag string) (checkpoints.Info, error) {
	t := p.task("put")
	u := p.b.newUpload(t, checkpoints.Object{Parts: [][]byte{[]byte(p.key), []byte(text)}}, etag)
	defer u.payload.reading.Wait()
	return retry(ctx, p.b, t, func(ctx context.Context) (checkpoints.Info, error) {
		info, _, err := u.send(ctx)
		if conditionFailed(err) {
			err = fmt.Errorf("%w: %w", checkpoints.ErrConflict, err) // the answer that is asked for: final
		}
		return info, err
	})
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
func (p *probe) kept(ctx context.Context, text string) error {
	t := p.task("stat")
	s, err := retry(ctx, p.b, t, func(ctx context.Context) (stored, error) { return p.b.stat(ctx, t) })
	if err != nil {
		return fmt.Errorf("object store %s: what was written cannot be read; allow GetObject and ListBucket to these keys: %w", p.b.name, err)
	}
	o := checkpoints.Object{Parts: [][]byte{[]byte(p.key), []byte(text)}}
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
