package sinks

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// payload is the bytes of one upload. Every attempt opens it anew, and whoever
// lent the parts may have them back only when no attempt reads any more: a
// request that ended may still be writing.
type payload struct {
	parts   [][]byte
	size    int64
	reading sync.WaitGroup // bodies not closed yet
}

func (p *payload) open() *body {
	p.reading.Add(1)
	return &body{payload: p, rest: p.parts, n: p.size}
}

// body reads a payload once, from its beginning. It is used by one goroutine
// of the transport, but closed by any.
type body struct {
	payload *payload
	rest    [][]byte // not changed: shared by all attempts
	off     int      // into rest[0]
	n       int64    // bytes left
	once    sync.Once
}

func (b *body) left() int64 { return b.n }

func (b *body) Read(p []byte) (int, error) {
	for len(b.rest) > 0 {
		n := copy(p, b.rest[0][b.off:])
		b.off += n
		b.n -= int64(n)
		if b.off == len(b.rest[0]) {
			b.rest, b.off = b.rest[1:], 0
		}
		if n > 0 || len(p) == 0 {
			return n, nil
		}
	}
	return 0, io.EOF
}

// WriteTo writes what is left with as few system calls as the system allows.
func (b *body) WriteTo(w io.Writer) (int64, error) {
	if len(b.rest) == 0 {
		return 0, nil
	}
	bufs := append(net.Buffers(nil), b.rest...) // it is consumed by writing
	bufs[0] = bufs[0][b.off:]
	n, err := bufs.WriteTo(w)
	b.n -= n
	b.rest, b.off = nil, 0
	return n, err
}

// Close is called by the transport when it reads no more.
func (b *body) Close() error {
	b.once.Do(b.payload.reading.Done)
	return nil
}

// reader is the upload as the library sees it: seekable, so that the library
// never reads it ahead. The bytes go out through open.
type reader struct{ *body }

func (r reader) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekStart {
		return 0, errors.New("a body can only be read from its beginning")
	}
	return 0, nil
}

// with hands the payload to the requests made with the context.
func (p *payload) with(ctx context.Context) context.Context {
	return context.WithValue(ctx, payloadKey{}, p)
}
