package cli

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"
)

// startPause is between two tries of what refuses a worker at its start.
const startPause = 3 * time.Second

// begin tries out what the worker needs. What refuses it is logged at once.
// Where there is a page that can show it, it is tried again for a while:
// whoever looks there is told, and what is mended meanwhile, a bucket that is
// made or a secret that is written anew, needs no restart.
func (c *RunCommand) begin(ctx context.Context, log zerolog.Logger, cannot func(error), try func(context.Context) error) error {
	patience := time.Duration(c.StartPatience)
	if c.Listen == "" || c.UntilEnd {
		patience = 0
	}
	ends, told := time.Now().Add(patience), ""
	for {
		err := try(ctx)
		cannot(err)
		if err == nil || ctx.Err() != nil || !time.Now().Add(startPause).Before(ends) {
			return err
		}
		if said := sentence(err); said != told {
			told = said
			log.Error().Err(err).Str("until", ends.Format(time.TimeOnly)).Msg("the worker cannot start; it is tried again, and the page tells")
		}
		timer := time.NewTimer(startPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// sentence is what an error means without its cause, which may name another
// key or port at each try.
func sentence(err error) string {
	var known interface{ Sentence() string }
	if errors.As(err, &known) {
		return known.Sentence()
	}
	return err.Error()
}
