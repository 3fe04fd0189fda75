package cli

import (
	"cmp"
	"fmt"

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
func (c *TopCommand) Run(p *Process) error {
	var clients []*webclient.Client
	for _, address := range c.Worker {
		client, err := OneWorker{address, c.Token, c.CAFile}.client()
		if err != nil {
			return err
		}
		defer client.Close()
		clients = append(clients, client)
	}
	if c.Once || !isTerminal(p.Stdout) {
		return top.Once(p.Stop, p.Stdout, clients, c.VChannel, cmp.Or(terminalWidth(p.Stdout), onceWidth))
	}
	screen, err := top.Terminal()
	if err != nil {
		return fmt.Errorf("this terminal: %w (--once prints plain text)", err)
	}
	return top.Run(p.Stop, screen, clients, top.Options{VChannel: c.VChannel, Colors: env(p.Environ, "NO_COLOR") == ""})
}
