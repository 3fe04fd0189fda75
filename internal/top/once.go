package top

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"

	"flowgraph/internal/webclient"
)

// ErrNoAnswer: no worker answers.
var ErrNoAnswer = errors.New("no worker answers")

// onceEvents is how many events a frame without a terminal has.
const onceEvents = 20

// Once asks every worker and writes one frame of so many cells in width: all
// vchannels, and all there is to say of one: vchannel, or where it is empty
// the one most in trouble. ErrNoAnswer if there was no worker to ask.
func Once(ctx context.Context, w io.Writer, clients []*webclient.Client, vchannel string, width int) error {
	f := newFleet(clients)
	v := view{selected: place{0, vchannel}, all: true}
	f.look(ctx, &v)
	if v.selected.vchannel != "" {
		f[v.selected.worker].show(v.selected.vchannel)
		f.look(ctx, &v)
	}
	text := strings.Builder{}
	for _, l := range v.whole(width) {
		words := ""
		for _, s := range l {
			words += s.text
		}
		text.WriteString(strings.TrimRight(words, " ") + "\n")
	}
	if _, err := io.WriteString(w, text.String()); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	for i := range v.sights {
		if v.sights[i].err == nil {
			return nil
		}
	}
	return ErrNoAnswer
}

// look asks all workers once, at the same time.
func (f fleet) look(ctx context.Context, v *view) {
	var all sync.WaitGroup
	for _, w := range f {
		all.Go(func() { w.look(ctx) })
	}
	all.Wait()
	v.sights = v.sights[:0]
	for _, w := range f {
		v.sights = append(v.sights, w.now)
	}
	v.settle()
}

// whole is a frame without an end: nothing is left out for want of lines.
func (v *view) whole(width int) []line {
	const lines = 10000
	out := append(v.header(width), v.troubles(width, 0)...)
	for _, block := range [][]line{v.channels(width, lines), v.figure(width, lines), v.segments(width, lines), v.happened(width, onceEvents+1)} {
		if len(block) > 0 {
			out = append(append(out, nil), block...)
		}
	}
	return out
}
