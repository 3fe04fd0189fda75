package recording

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// CaptureOptions say what is read.
type CaptureOptions struct {
	Partitions map[string][]int32     // by topic
	Follow     bool                   // go on until stop instead of to the ends as of now
	Progress   func(done, left int64) // records read, offsets still ahead; may be nil
	Client     []kgo.Opt              // brokers and how to log in to them
}

// Capture writes what committed readers see of the partitions, from the
// beginning of each log to its last stable offset as of now. Offset order holds
// within a partition; partitions come interleaved. It returns ErrStopped when
// stop ended it before, except when following, which only stop ends.
func Capture(ctx, stop context.Context, w *Writer, o CaptureOptions) error {
	l, err := Dial(ctx, o)
	if err != nil {
		return err
	}
	defer l.Close()
	return l.Read(ctx, stop, func(r Record) error {
		if err := w.Write(r); err != nil {
			return fmt.Errorf("write the recording: %w", err)
		}
		return nil
	})
}
