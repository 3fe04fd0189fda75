package flows

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/reugn/go-streams/extension"
	"go.uber.org/goleak"
)

// No element may pass one that failed, by an error or by a panic.
func TestNothingPassesAFailedElement(t *testing.T) {
	fault := errors.New("fault")
	for name, fail := range map[string]func() error{
		"error": func() error { return fault },
		"panic": func() error { panic(fault) },
	} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			r := &run{ctx: ctx, fail: cancel}
			in, out := make(chan any), make(chan any, 10)
			go func() {
				defer close(in)
				for i := range 10 {
					in <- &i
				}
			}()
			extension.NewChanSource(in).Via(lift(r, "a stage", func(_ context.Context, i *int) ([]*int, error) {
				if *i == 4 {
					return []*int{i}, fail()
				}
				return []*int{i}, nil
			})).To(extension.NewChanSink(out))
			var got []int
			for v := range out {
				got = append(got, *v.(*int))
			}
			if len(got) != 4 {
				t.Errorf("%v came out", got)
			}
			cause := context.Cause(ctx)
			if cause == nil || !strings.Contains(cause.Error(), "a stage: ") || !strings.Contains(cause.Error(), "fault") {
				t.Errorf("the cause is %v", cause)
			}
			if name == "panic" && !strings.Contains(cause.Error(), "step_test.go") {
				t.Errorf("the cause has no stack: %v", cause)
			}
		})
	}
}
