package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rs/zerolog"

	"flowgraph/internal/kafka"
	"flowgraph/sinks"
)

// tried is one line of the checklist, of Kafka's or of the store's.
type tried = kafka.Trial

// connectAll tries whatever a worker needs from outside and prints a line
// each. Its error says that something is missing.
func (c *RunCommand) connectAll(p *Process, log zerolog.Logger) error {
	fromKafka, err := c.tryKafka(p)
	if err != nil {
		return err
	}
	fromStore, err := c.tryStore(p, log)
	if err != nil {
		return err
	}
	missing := 0
	w := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	for _, t := range append(fromKafka, fromStore...) {
		state, text := "ok", t.Found
		if t.Err != nil {
			missing++
			state, text = "missing", strings.ReplaceAll(t.Err.Error(), "\n", "; ")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", state, t.What, text)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if missing > 0 {
		return fmt.Errorf("%s missing; what builds on it was not tried", count(missing, "thing"))
	}
	return nil
}

func (c *RunCommand) tryKafka(p *Process) ([]tried, error) {
	cfg, opts, err := c.client(zerolog.Nop()) // what the log is told was told before
	if err != nil {
		return nil, usageError{err}
	}
	// Each expression was compiled when the settings were read.
	wanted, err := regexp.Compile(strings.Join(c.Topics.Expressions(), "|"))
	if err != nil {
		return nil, usageError{err}
	}
	return cfg.Try(p.Stop, opts, kafka.Reading{
		Match: wanted.MatchString, Names: c.Topics.Names(), Partitions: c.Topics.Partitions(), Text: c.Topics.String(),
		Group: c.Group, ServerSide: c.GroupProtocol == "consumer",
	})
}

// checkTries is how often a step at the store is tried: whoever waits for a
// checklist starts it again.
const checkTries = 2

func (c *RunCommand) tryStore(p *Process, log zerolog.Logger) (lines []tried, err error) {
	cfg := c.S3Flags.Bucket(log)
	cfg.ProbeTries = checkTries
	bucket, err := sinks.NewBucket(cfg, log, sinks.Hooks{})
	if err != nil {
		return nil, usageError{err}
	}
	defer bucket.Close()
	for _, t := range bucket.Try(p.Stop) {
		lines = append(lines, tried(t))
	}
	if ahead, ok := bucket.Ahead(); ok {
		lines = append(lines, storeClock(ahead))
	}
	return lines, p.Stop.Err()
}

// A store refuses requests whose time is 15 minutes off its own.
const (
	muchSkew  = 5 * time.Minute
	smallSkew = 2 * time.Second // of the second in which an answer was dated
)

func storeClock(ahead time.Duration) tried {
	t := tried{What: "store's clock", Found: "as here"}
	switch off := ahead.Abs(); {
	case off > muchSkew:
		t.Err = errors.New(skewText(ahead) + ": set both by NTP; stores refuse requests whose time is 15 minutes off")
	case off > smallSkew:
		t.Found = skewText(ahead)
	}
	return t
}

func skewText(ahead time.Duration) string {
	side := "ahead of"
	if ahead < 0 {
		side = "behind"
	}
	return fmt.Sprintf("it is %s %s the clock here", ahead.Abs().Round(time.Second), side)
}
