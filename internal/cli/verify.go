package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/rs/zerolog"

	"flowgraph/flows"
	"flowgraph/internal/archive"
	"flowgraph/internal/recording"
)

// VerifyCommand compares a bucket with the logs that it was made of.
type VerifyCommand struct {
	KafkaFlags
	S3Flags
	Recording  string `help:"Compare with this recording of the topics instead of with Kafka." placeholder:"FILE" group:"Verify"`
	SchemaFile string `help:"JSON file with schemas of collections whose creation is neither in the log nor in the bucket." placeholder:"FILE" group:"Verify"`
	Complete   bool   `help:"No worker runs and all was read to the end: what is not stored is lost." group:"Verify"`
	Limit      int    `help:"How many problems are told in words; all are counted." default:"100" placeholder:"N" group:"Verify"`
	TempDir    string `help:"Folder for temporary files, about 100 bytes a row; the system's when empty." placeholder:"DIR" group:"Verify"`
	JSON       bool   `name:"json" help:"Print JSON." group:"Verify"`
}

// Validate wants a log of one kind.
func (c *VerifyCommand) Validate() error {
	if c.Limit < 1 {
		return errors.New("--limit must be at least 1")
	}
	if c.Recording != "" {
		return c.S3Flags.Validate()
	}
	return errors.Join(c.KafkaFlags.Validate(), c.S3Flags.Validate())
}

// Run compares and prints. It fails with archive.ErrNotExact when anything is
// wrong.
func (c *VerifyCommand) Run(p *Process, log zerolog.Logger) error {
	bucket, err := c.S3Flags.open(p.Stop, log)
	if err != nil {
		return err
	}
	defer bucket.Close()
	o := archive.VerifyOptions{Recording: c.Recording, Complete: c.Complete, MaxProblems: c.Limit, Dir: c.TempDir}
	if o.Dir == "" {
		o.Dir = os.TempDir()
	}
	if c.SchemaFile != "" {
		if o.Schemas, err = readSchemas(c.SchemaFile); err != nil {
			return usageError{err}
		}
	}
	explain := func(err error) error { return err }
	if c.Recording == "" {
		if explain, err = c.kafka(p, &o, log); err != nil {
			return err
		}
	}
	told := newProgress(p.Stderr, "records")
	defer told.end()
	o.Progress = told.stage
	report, err := archive.Verify(p.Stop, bucket, o)
	told.end()
	if err != nil {
		return explain(err)
	}
	if err := c.print(p, report); err != nil {
		return err
	}
	return report.Err()
}

// kafka says what is read of it, and how its errors are explained.
func (c *VerifyCommand) kafka(p *Process, o *archive.VerifyOptions, log zerolog.Logger) (explain func(error) error, err error) {
	client, explain, err := c.connect(p, log, c.Topics.Asked())
	if err != nil {
		return explain, err
	}
	partitions, err := partitionsOf(p.Stop, client, c.Topics)
	if err != nil {
		return explain, explain(err)
	}
	o.Log = recording.CaptureOptions{Partitions: partitions, Client: client}
	o.TopicIDs, err = flows.TopicIDs(p.Stop, client, slices.Sorted(maps.Keys(partitions)))
	return explain, explain(err)
}

func (c *VerifyCommand) print(p *Process, r *archive.Report) error {
	if !c.JSON {
		_, err := fmt.Fprintf(p.Stdout, "%d records read\n%s", r.Records, r)
		return err
	}
	out := json.NewEncoder(p.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(r)
}
