package cli

import (
	"errors"
	"fmt"
	"math"

	"github.com/rs/zerolog"

	"flowgraph/internal/recording"
)

// ReplayCommand produces a recording to Kafka.
type ReplayCommand struct {
	File string `arg:"" help:"Recording: JSON lines, compressed when the name ends in .gz or .zst."`
	BrokerFlags
	Append bool    `help:"Replay into topics that hold records already." group:"Replay"`
	Rate   float64 `help:"Records a second over all partitions; 0 for as fast as it goes." default:"0" placeholder:"RECORDS" group:"Replay"`
}

// Validate refuses a rate that means nothing.
func (c *ReplayCommand) Validate() error {
	if c.Rate < 0 || math.IsNaN(c.Rate) || math.IsInf(c.Rate, 0) {
		return errors.New("--rate must be a number of records a second, 0 for as fast as it goes")
	}
	return c.BrokerFlags.Validate()
}

// Run replays and tells how much it was. Topics, partitions, order, keys,
// values, headers and timestamps are kept; offsets are the broker's.
func (c *ReplayCommand) Run(p *Process, log zerolog.Logger) error {
	login := c.LoginFlags.config(c.Brokers, log)
	login.Writes = true
	client, explain, err := connectBy(p, login, log, nil)
	if err != nil {
		return err
	}
	told := newProgress(p.Stderr, bytesDone)
	defer told.end()
	s, err := recording.Replay(p.Kill, p.Stop, c.File, recording.ReplayOptions{
		Append: c.Append, Rate: c.Rate, Client: client,
		Progress: func(done, of int64) { told.stage("records", done, of) },
		Scanned:  func(done, of int64) { told.stage(bytesDone, done, of) },
	})
	told.end()
	if errors.Is(err, recording.ErrNotEmpty) {
		return fmt.Errorf("%w (--append)", err)
	}
	if err != nil {
		return explain(err)
	}
	_, err = fmt.Fprintf(p.Stdout, "replayed %s into %d topics: %s\n", c.File, len(s.Partitions), told.summary(s.Records, s.Bytes))
	return err
}
