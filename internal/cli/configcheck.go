package cli

import (
	"cmp"
	"fmt"

	"github.com/rs/zerolog"

	"flowgraph/sinks"
)

// ConfigCheckCommand says what is wrong with a configuration.
type ConfigCheckCommand struct {
	File    string `arg:"" optional:"" help:"The file; else that of --config or FLOWGRAPH_CONFIG. The environment is checked with it."`
	Connect bool   `help:"Also try what a worker needs of Kafka and the bucket. Nothing is left behind." group:"Check"`
}

// Run tells all faults at once, then with Connect all that is missing.
func (c *ConfigCheckCommand) Run(p *Process, log zerolog.Logger, root *commands) error {
	g, err := gather(p, cmp.Or(c.File, root.Config))
	if err != nil {
		return err
	}
	if len(g.sentences) == 0 {
		g.startable(p, log)
	}
	for _, sentence := range g.inOrder(g.from.path) {
		if _, err := fmt.Fprintln(p.Stdout, sentence); err != nil {
			return err
		}
	}
	if n := len(g.sentences); n > 0 {
		return usageError{fmt.Errorf("the configuration has %s", count(n, "fault"))}
	}
	if _, err := fmt.Fprintf(p.Stdout, "Nothing is wrong with the settings of %s.\n", g.from.where()); err != nil {
		return err
	}
	if !c.Connect {
		return nil
	}
	return g.run.connectAll(p, log)
}

// startable adds what a worker would say of files and limits at its start.
func (g *gathered) startable(p *Process, log zerolog.Logger) {
	if _, err := g.run.worker(p.Environ); err != nil {
		g.contradictions(err)
	}
	given, err := g.run.schemas(log)
	if err != nil {
		g.contradictions(err)
	} else {
		_ = given.close() // nothing was sent
	}
	if _, _, err := g.run.client(log); err != nil {
		g.contradictions(err)
	}
	bucket, err := sinks.NewBucket(g.run.S3Flags.Bucket(log), log, sinks.Hooks{})
	if err != nil {
		g.contradictions(err)
		return
	}
	bucket.Close()
}

func count(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}
