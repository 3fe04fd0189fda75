package sinks

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/minio/minio-go/v7"

	"flowgraph/checkpoints"
)

// Put stores an object with one PUT under its condition, and returns only when
// the store has shown that it holds these bytes. Without an ETag in the
// condition it creates; with one it replaces that version.
func (b *Bucket) Put(ctx context.Context, key string, o checkpoints.Object, c checkpoints.Condition) (checkpoints.Info, error) {
	t := &task{op: "put", key: key, refusals: c.Refusals, waits: forever}
	if c.Refusals == 0 {
		t.refusals = forever
	}
	u := b.newUpload(t, o, c.ETag)
	defer u.payload.reading.Wait()
	return retry(ctx, b, t, u.attempt)
}

// upload is one Put on its way through its attempts. All send the same bytes.
type upload struct {
	b       *Bucket
	task    *task
	object  checkpoints.Object
	payload *payload
	digest  digest
	etag    string // to be replaced; "": create only
	doubt   bool   // an earlier attempt may have been stored
}

func (b *Bucket) newUpload(t *task, o checkpoints.Object, etag string) *upload {
	return &upload{
		b: b, task: t, object: o, etag: strings.Trim(etag, `"`), digest: digestOf(b.cfg.Checksum, o),
		payload: &payload{parts: o.Parts, size: o.Size()},
	}
}

// attempt asks before it sends again: only what the store holds can tell a
// lost reply from a conflict.
func (u *upload) attempt(ctx context.Context) (checkpoints.Info, error) {
	if u.doubt {
		if info, found, err := u.find(ctx); found || err != nil {
			return info, err
		}
		u.doubt = false
	}
	info, sums, err := u.send(ctx)
	switch {
	case err == nil:
		return u.confirm(ctx, info, sums)
	case conditionFailed(err):
		u.doubt = true
		if info, found, ferr := u.find(ctx); found || ferr != nil {
			return info, ferr
		}
		u.doubt = false
		if errors.Is(err, checkpoints.ErrNotExist) {
			// Gone when the store looked, there when we did.
			err = fmt.Errorf("%w: %v", checkpoints.ErrConflict, err)
		}
	case unknown(err):
		u.doubt = true
	}
	return checkpoints.Info{}, err
}

// send is one PUT. The payload is not signed: the checksum covers it.
func (u *upload) send(ctx context.Context) (info checkpoints.Info, sums map[Checksum]string, err error) {
	opts := u.options()
	var md5Text, shaText string
	switch u.digest.kind {
	case MD5:
		md5Text = base64.StdEncoding.EncodeToString(u.digest.sum)
	case SHA256:
		shaText = hex.EncodeToString(u.digest.sum)
	}
	size := u.payload.size
	err = u.b.exchange(ctx, u.task, "put", size, func(ctx context.Context, _ *deadline) (int64, error) {
		r := reader{&body{payload: u.payload, rest: u.payload.parts, n: size}}
		i, err := u.b.client.PutObject(u.payload.with(ctx), u.b.cfg.Bucket, u.b.prefix+u.task.key, r, size, md5Text, shaText, opts)
		info = checkpoints.Info{Key: u.task.key, ETag: i.ETag, Size: size}
		sums = map[Checksum]string{CRC32C: i.ChecksumCRC32C, SHA256: i.ChecksumSHA256}
		return size, err
	})
	return info, sums, err
}

func (u *upload) options() minio.PutObjectOptions {
	meta := make(map[string]string, len(u.object.Meta)+1)
	maps.Copy(meta, u.object.Meta)
	if h := u.digest.header(); h != "" {
		meta[h] = u.digest.text() // the library sends x-amz-... as it is
	}
	opts := minio.PutObjectOptions{UserMetadata: meta, DisableContentSha256: true, DisableMultipart: true}
	if u.etag == "" {
		opts.SetMatchETagExcept("*")
	} else {
		opts.SetMatchETag(u.etag)
	}
	return opts
}

// confirm takes a reply of success for true only when it shows our checksum,
// or the store shows the object.
func (u *upload) confirm(ctx context.Context, info checkpoints.Info, sums map[Checksum]string) (checkpoints.Info, error) {
	if same, known := u.digest.compare(sums, info.ETag); same && known && info.ETag != "" {
		return info, nil
	}
	u.doubt = true // until it is seen
	s, err := u.b.stat(ctx, u.task)
	switch {
	case errors.Is(err, checkpoints.ErrNotExist):
		u.doubt = false
		return info, &answer{code: "NotStored", status: 500, message: "the store said that it stored the object, but does not have it"}
	case err != nil:
		return info, err
	case s.Size != u.payload.size:
		return info, u.repair(ctx, s)
	}
	if same, known := u.digest.compare(s.sums, s.ETag); known && !same {
		return info, u.conflict(s)
	}
	return s.Info, nil
}

// repair prepares to replace an object that the store cut short although it
// reported success. Only a beginning of our own bytes is ever replaced, and
// only that version.
func (u *upload) repair(ctx context.Context, s stored) error {
	data, s, err := u.b.get(ctx, u.task)
	if err != nil {
		return err
	}
	if s.Size >= u.payload.size || !u.begins(data) {
		return u.conflict(s)
	}
	u.doubt, u.etag = false, s.ETag
	return &answer{code: "Truncated", status: 500, message: fmt.Sprintf("the store kept %d of %d bytes", s.Size, u.payload.size)}
}

// find asks the store whether it holds our bytes under the key. It returns
// false and no error if the put has not happened and may be sent again.
func (u *upload) find(ctx context.Context) (info checkpoints.Info, found bool, err error) {
	if u.etag == "" {
		s, err := u.b.stat(ctx, u.task)
		switch {
		case errors.Is(err, checkpoints.ErrNotExist):
			return info, false, nil
		case err != nil:
			return info, false, err
		case s.Size != u.payload.size:
			return info, false, u.conflict(s)
		}
		if same, known := u.digest.compare(s.sums, s.ETag); known {
			if !same {
				return info, false, u.conflict(s)
			}
			return s.Info, true, nil
		}
	}
	data, s, err := u.b.get(ctx, u.task)
	switch {
	case errors.Is(err, checkpoints.ErrNotExist) && u.etag == "":
		return info, false, nil
	case errors.Is(err, checkpoints.ErrNotExist):
		return info, false, fmt.Errorf("%w: version %s is gone: %w", checkpoints.ErrConflict, u.etag, err)
	case err != nil:
		return info, false, err
	case int64(len(data)) == u.payload.size && u.begins(data):
		return s.Info, true, nil
	case u.etag != "" && s.ETag == u.etag:
		return info, false, nil
	}
	return info, false, u.conflict(s)
}

// begins says whether data is a beginning of the object, or all of it.
func (u *upload) begins(data []byte) bool {
	for _, p := range u.object.Parts {
		n := min(len(p), len(data))
		if !bytes.Equal(p[:n], data[:n]) {
			return false
		}
		data = data[n:]
	}
	return len(data) == 0
}

func (u *upload) conflict(s stored) error {
	return fmt.Errorf("%w: stored are %d bytes (ETag %s, vchannel %s, epoch %s), sent were %d",
		checkpoints.ErrConflict, s.Size, s.ETag, s.Meta["vchannel"], s.Meta["epoch"], u.payload.size)
}
