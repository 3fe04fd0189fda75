package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"flowgraph/internal/reread"
	"flowgraph/internal/webclient"
)

// OneWorker says which worker is asked.
type OneWorker struct {
	Worker string `help:"Worker to ask, as its --listen says." default:"http://127.0.0.1:9090" placeholder:"URL" group:"Worker to ask"`
	Token  Secret `help:"What the worker asks for: its --listen-token." placeholder:"TOKEN" group:"Worker to ask"`
	CAFile string `name:"ca-file" help:"PEM file of certificates to trust besides the system's, for a worker that speaks TLS." placeholder:"FILE" group:"Worker to ask"`
}

func (f OneWorker) client() (*webclient.Client, error) {
	trust, err := reread.Trusting(f.CAFile)
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
