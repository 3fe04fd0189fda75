package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"flowgraph/flows"
	"flowgraph/internal/web"
	"flowgraph/internal/webclient"
)

// WholeFlags say which partitions are meant.
type WholeFlags struct {
	VChannel []string `name:"vchannel" help:"Vchannels, as <topic>-<partition>." placeholder:"NAME,..." group:"What"`
	All      bool     `help:"All vchannels of the worker." group:"What"`
}

// Validate refuses a command that names nothing.
func (f WholeFlags) Validate() error {
	if (len(f.VChannel) > 0) == f.All {
		return errors.New("name vchannels with --vchannel, or give --all")
	}
	return nil
}

// PartFlags say which partitions and collections are meant.
type PartFlags struct {
	VChannel   []string `name:"vchannel" help:"Vchannels, as <topic>-<partition>." placeholder:"NAME,..." group:"What"`
	Collection string   `help:"A collection, by name or ID." placeholder:"NAME" group:"What"`
	All        bool     `help:"Everything that the worker has." group:"What"`
	Wait       Duration `help:"Wait so long at most until the checkpoint has it; 0s: until the worker has begun." default:"0s" placeholder:"TIME" group:"What"`
}

// Validate refuses a command that names nothing.
func (f PartFlags) Validate() error {
	switch {
	case (len(f.VChannel) > 0 || f.Collection != "") == f.All:
		return errors.New("name what is meant with --vchannel or --collection, or give --all")
	case f.Wait < 0:
		return errors.New("--wait must not be below 0s")
	}
	return nil
}

func (f PartFlags) request() web.Request {
	r := web.Request{Selector: flows.Selector{VChannels: f.VChannel, Collection: f.Collection, All: f.All}}
	if f.Wait > 0 {
		r.Wait = time.Duration(f.Wait).String()
	}
	return r
}

// request is one of the worker's client.
type request func(*webclient.Client, context.Context, web.Request) (flows.Outcome, error)

// cut has the worker end what is buffered, and fails unless all of it was.
func (f PartFlags) cut(p *Process, w OneWorker, ask request) error {
	return w.ask(p, time.Duration(f.Wait), func(ctx context.Context, c *webclient.Client) error {
		out, err := ask(c, ctx, f.request())
		return cmp.Or(err, cutTable(p.Stdout, out, f.Wait > 0))
	})
}

// hold pauses or resumes, and says that it is done.
func (f WholeFlags) hold(p *Process, w OneWorker, ask request, done string) error {
	return w.ask(p, 0, func(ctx context.Context, c *webclient.Client) error {
		out, err := ask(c, ctx, web.Request{Selector: flows.Selector{VChannels: f.VChannel, All: f.All}})
		return cmp.Or(err, heldList(p.Stdout, out, done))
	})
}

// FlushCommand has a running worker write what it has buffered.
type FlushCommand struct {
	PartFlags
	OneWorker
}

// Run prints what was flushed, and fails unless all of it was.
func (c *FlushCommand) Run(p *Process) error {
	return c.cut(p, c.OneWorker, (*webclient.Client).Flush)
}

// SealCommand has a running worker close segments.
type SealCommand struct {
	PartFlags
	OneWorker
}

// Run prints what was sealed, and fails unless all of it was.
func (c *SealCommand) Run(p *Process) error {
	return c.cut(p, c.OneWorker, (*webclient.Client).Seal)
}

// PauseCommand has a running worker read some partitions no further.
type PauseCommand struct {
	WholeFlags
	OneWorker
}

// Run prints what is paused.
func (c *PauseCommand) Run(p *Process) error {
	return c.hold(p, c.OneWorker, (*webclient.Client).Pause, "paused")
}

// ResumeCommand ends pauses.
type ResumeCommand struct {
	WholeFlags
	OneWorker
}

// Run prints what is read again.
func (c *ResumeCommand) Run(p *Process) error {
	return c.hold(p, c.OneWorker, (*webclient.Client).Resume, "resumed")
}

// LogLevelCommand shows or changes what a running worker logs.
type LogLevelCommand struct {
	Level string `arg:"" optional:"" help:"debug, info, warn or error; without it the level is printed."`
	OneWorker
}

// Run prints the level that is in force.
func (c *LogLevelCommand) Run(p *Process) error {
	return c.ask(p, 0, func(ctx context.Context, w *webclient.Client) error {
		level, err := w.LogLevel(ctx)
		if c.Level != "" {
			level, err = w.SetLogLevel(ctx, c.Level)
		}
		if err == nil {
			fmt.Fprintln(p.Stdout, level)
		}
		return err
	})
}
