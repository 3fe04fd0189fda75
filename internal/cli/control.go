package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"flowgraph/flows"
	"flowgraph/internal/web"
	"flowgraph/internal/webclient"
)

// OneWorker says which worker is asked.
type OneWorker struct {
	Worker string `help:"Worker to ask, as its --listen says." default:"http://127.0.0.1:9090" placeholder:"URL" group:"Worker to ask"`
	Token  Secret `help:"What the worker asks for: its --listen-token." placeholder:"TOKEN" group:"Worker to ask"`
	CAFile string `name:"ca-file" help:"PEM file of certificates to trust besides the system's, for a worker that speaks TLS." placeholder:"FILE" group:"Worker to ask"`
}

func (f OneWorker) client() (*webclient.Client, error) {
	trust, err := trusting(f.CAFile)
	if err != nil {
		return nil, usageError{fmt.Errorf("--ca-file: %w", err)}
	}
	client, err := webclient.New(f.Worker, f.Token.Reveal(), trust)
	if err != nil {
		return nil, usageError{fmt.Errorf("--worker: %w", err)}
	}
	return client, nil
}

// ask hands one request to the worker, which may take so long.
func (f OneWorker) ask(p *Process, limit time.Duration, do func(context.Context, *webclient.Client) error) error {
	client, err := f.client()
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(p.Stop, limit+answerTime)
	defer cancel()
	if err := do(ctx, client); errors.Is(err, errNotAll) {
		return err
	} else if err != nil {
		return fmt.Errorf("worker %s: %w", client.Address(), err)
	}
	return nil
}

// answerTime is for the way there and back, and for a flow to get to it.
const answerTime = 15 * time.Second

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

// FlushCommand has a running worker write what it has buffered.
type FlushCommand struct {
	PartFlags
	OneWorker
}

// Run prints what was flushed, and fails unless all of it was.
func (c *FlushCommand) Run(p *Process) error {
	return c.ask(p, time.Duration(c.Wait), func(ctx context.Context, w *webclient.Client) error {
		out, err := w.Flush(ctx, c.request())
		return cmp.Or(err, cutTable(p.Stdout, out, c.Wait > 0))
	})
}

// SealCommand has a running worker close segments.
type SealCommand struct {
	PartFlags
	OneWorker
}

// Run prints what was sealed, and fails unless all of it was.
func (c *SealCommand) Run(p *Process) error {
	return c.ask(p, time.Duration(c.Wait), func(ctx context.Context, w *webclient.Client) error {
		out, err := w.Seal(ctx, c.request())
		return cmp.Or(err, cutTable(p.Stdout, out, c.Wait > 0))
	})
}

// PauseCommand has a running worker read some partitions no further.
type PauseCommand struct {
	WholeFlags
	OneWorker
}

// Run prints what is paused.
func (c *PauseCommand) Run(p *Process) error {
	return c.ask(p, 0, func(ctx context.Context, w *webclient.Client) error {
		out, err := w.Pause(ctx, web.Request{Selector: flows.Selector{VChannels: c.VChannel, All: c.All}})
		return cmp.Or(err, heldList(p.Stdout, out, "paused"))
	})
}

// ResumeCommand ends pauses.
type ResumeCommand struct {
	WholeFlags
	OneWorker
}

// Run prints what is read again.
func (c *ResumeCommand) Run(p *Process) error {
	return c.ask(p, 0, func(ctx context.Context, w *webclient.Client) error {
		out, err := w.Resume(ctx, web.Request{Selector: flows.Selector{VChannels: c.VChannel, All: c.All}})
		return cmp.Or(err, heldList(p.Stdout, out, "resumed"))
	})
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

// errNotAll: the worker has not done all that it was asked for.
var errNotAll = errors.New("not all of it was done, see above")

// cutTable prints what came of a flush or seal.
func cutTable(w io.Writer, o flows.Outcome, waited bool) error {
	if len(o.VChannels)+len(o.NotHere) == 0 {
		return nil // there is an error that says why
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "VCHANNEL\tSEGMENTS\tROWS\tMEMORY\tSTATE")
	for i := range o.VChannels {
		v := &o.VChannels[i]
		fmt.Fprintf(out, "%s\t%d\t%d\t%s\t%s\n", v.VChannel, v.Segments, v.Rows, approximate(v.Bytes), cutState(v))
	}
	for _, name := range o.NotHere {
		fmt.Fprintf(out, "%s\t-\t-\t-\tnot this worker's\n", name)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if !o.Whole(waited) {
		return errNotAll
	}
	return nil
}

func cutState(v *flows.Asked) string {
	state := "on its way to the store"
	switch {
	case v.Error != "":
		return v.Error
	case !v.Done:
		return "the flow has not got to it, and will"
	case v.Committed:
		state = "committed"
	}
	if v.Unsealed > 0 {
		state += fmt.Sprintf("; %d are sealed once reading has passed what is stored", v.Unsealed)
	}
	return state
}

// heldList prints what came of a pause or its end.
func heldList(w io.Writer, o flows.Outcome, done string) error {
	for i := range o.VChannels {
		state := done
		if !o.VChannels[i].Done {
			state = done + " as soon as the worker looks"
		}
		fmt.Fprintf(w, "%s %s\n", o.VChannels[i].VChannel, state)
	}
	for _, name := range o.NotHere {
		fmt.Fprintf(w, "%s is not this worker's\n", name)
	}
	if len(o.VChannels)+len(o.NotHere) > 0 && !o.Whole(false) {
		return errNotAll
	}
	return nil
}
