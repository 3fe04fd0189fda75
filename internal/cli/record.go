package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/internal/recording"
)

// RecordCommand writes topics to a file.
type RecordCommand struct {
	KafkaFlags
	Output string `short:"o" help:"File to write, compressed when its name ends in .gz or .zst; - for the standard output. It appears when it is whole." required:"" placeholder:"FILE" group:"Record"`
	Follow bool   `help:"Go on recording until stopped, instead of to where each log ends now. Topics made later are not seen." group:"Record"`
}

// Run records what committed readers see and tells how much it was.
func (c *RecordCommand) Run(p *Process, log zerolog.Logger) error {
	client, explain, err := c.connect(p, log, c.Topics.Asked())
	if err != nil {
		return err
	}
	partitions, err := partitionsOf(p.Stop, client, c.Topics)
	if err != nil {
		return explain(err)
	}
	w := recording.NewWriter(p.Stdout)
	if c.Output != "-" {
		if w, err = recording.Create(c.Output); err != nil {
			return err
		}
	}
	told := newProgress(p.beside(c.Output == "-"), "records")
	defer told.end()
	err = recording.Capture(p.Kill, p.Stop, w, recording.CaptureOptions{
		Partitions: partitions, Follow: c.Follow, Client: client,
		Progress: func(done, left int64) { told.at(done, done+left) },
	})
	told.end()
	if err != nil {
		return errors.Join(explain(err), w.Abort())
	}
	if err := w.Commit(); err != nil {
		return fmt.Errorf("write %s: %w", c.Output, err)
	}
	_, err = fmt.Fprintf(p.Stderr, "recorded %d topics in %s: %s\n", len(partitions), c.Output, told.summary(w.Records(), w.Bytes()))
	return err
}

// partitionsOf lists the partitions that exist now of the topics selected; it
// is an error when one given by name does not exist, or none match.
func partitionsOf(ctx context.Context, client []kgo.Opt, topics Topics) (map[string][]int32, error) {
	if list := topics.Partitions(); list != nil {
		return list, nil
	}
	cl, err := kgo.NewClient(client...)
	if err != nil {
		return nil, fmt.Errorf("kafka client: %w", err)
	}
	defer cl.Close()
	existing, err := kadm.NewClient(cl).ListTopics(ctx)
	if err != nil {
		return nil, fmt.Errorf("list topics: %w", err)
	}
	for _, name := range topics.Names() {
		if !existing.Has(name) {
			return nil, fmt.Errorf("topic %s does not exist", name)
		}
	}
	out := map[string][]int32{}
	for _, expr := range topics.Expressions() {
		match, err := regexp.Compile(expr)
		if err != nil {
			return nil, err
		}
		for name, detail := range existing {
			if match.MatchString(name) {
				out[name] = detail.Partitions.Numbers()
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no topic matches %s; Kafka shows a user only those that it may Describe", topics)
	}
	for _, ids := range out {
		slices.Sort(ids)
	}
	return out, nil
}
