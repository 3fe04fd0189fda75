package cli

import (
	"fmt"
	"slices"

	"github.com/rs/zerolog"

	"flowgraph/internal/reread"
	"flowgraph/internal/top"
	"flowgraph/internal/webclient"
)

// TopCommand shows running workers on a terminal.
type TopCommand struct {
	Worker   []string `help:"Worker to watch, as its --listen says; several for a view over all of them." default:"http://127.0.0.1:9090" placeholder:"URL,..." group:"Top"`
	Token    Secret   `help:"What the workers ask for: their --listen-token." placeholder:"TOKEN" group:"Top"`
	CAFile   string   `name:"ca-file" help:"PEM file of certificates to trust besides the system's, for workers that speak TLS." placeholder:"FILE" group:"Top"`
	VChannel string   `name:"vchannel" help:"Vchannel to begin with. Default: the one most in trouble." placeholder:"NAME" group:"Top"`
	Once     bool     `help:"Print one frame as plain text and end; it is so where the output is no terminal." group:"Top"`
}

// onceWidth is how wide a frame is that no terminal bounds.
const onceWidth = 120

// Run shows until the user quits, or once.
func (c *TopCommand) Run(p *Process, log zerolog.Logger) error {
	clients, err := c.clients(log)
	if err != nil {
		return usageError{err}
	}
	defer func() {
		for _, w := range clients {
			w.Close()
		}
	}()
	if c.Once || !isTerminal(p.Stdout) {
		width := onceWidth
		if w := terminalWidth(p.Stdout); w > 0 {
			width = w
		}
		return top.Once(p.Stop, p.Stdout, clients, c.VChannel, width)
	}
	screen, err := top.Terminal()
	if err != nil {
		return fmt.Errorf("this terminal: %w (--once prints plain text)", err)
	}
	return top.Run(p.Stop, screen, clients, top.Options{VChannel: c.VChannel, Colors: wantsColors(p.Environ)})
}

func (c *TopCommand) clients(log zerolog.Logger) ([]*webclient.Client, error) {
	trust, err := reread.Trusting(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("--ca-file: %w", err)
	}
	var out []*webclient.Client
	for _, address := range c.Worker {
		client, err := webclient.New(address, c.Token.Reveal(), trust)
		if err != nil {
			return nil, fmt.Errorf("--worker: %w", err)
		}
		out = append(out, client)
	}
	return out, nil
}

// wantsColors is false where the user has set NO_COLOR to anything.
func wantsColors(environ []string) bool {
	return !slices.ContainsFunc(environ, func(e string) bool { return len(e) > len("NO_COLOR=") && e[:len("NO_COLOR=")] == "NO_COLOR=" })
}
