package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/rs/zerolog"

	"flowgraph/checkpoints"
	"flowgraph/flows"
	"flowgraph/sinks"
)

// AcceptLogCommand lets a vchannel go on with a log that is not the one it was:
// its topic was created anew, or Kafka lost its end and gave the offsets again.
type AcceptLogCommand struct {
	BrokerFlags
	S3Flags
	VChannel string `name:"vchannel" help:"Whose log is another one now, named <topic>-<partition>." required:"" placeholder:"NAME" group:"Accept"`
	Yes      bool   `help:"Do it." group:"Accept"`
}

// Validate refuses a command without brokers or bucket.
func (c *AcceptLogCommand) Validate() error {
	if err := c.BrokerFlags.Validate(); err != nil {
		return err
	}
	return c.S3Flags.Validate()
}

// Run shows what would be done, and does it if told so. After an error it may
// be run again.
func (c *AcceptLogCommand) Run(p *Process, log zerolog.Logger) error {
	bucket, err := c.S3Flags.open(p.Stop, log)
	if err != nil {
		return err
	}
	defer bucket.Close()
	doc, err := loadDocument(p.Stop, bucket, c.VChannel)
	if err != nil {
		return err
	}
	client, explain, err := c.connect(p, log, []string{doc.Topic})
	if err != nil {
		return err
	}
	l, err := flows.DescribeLog(p.Stop, client, doc.Topic, doc.Partition)
	if err != nil {
		return explain(err)
	}
	if l.VChannel.TopicID == doc.TopicID {
		at, cut, err := flows.DescribeCut(p.Stop, client, l, doc)
		switch {
		case err != nil:
			return explain(err)
		case !cut:
			return sameLog(doc)
		}
		return c.acceptCut(p, bucket, l, doc, at)
	}
	c.show(p.Stdout, doc, l)
	if !c.Yes {
		return errNothingChanged
	}
	compound := func(ctx context.Context, s *checkpoints.Segment, meta map[string]string) error {
		return sinks.PutCompound(ctx, bucket, s, meta)
	}
	after, err := checkpoints.AcceptLog(p.Kill, bucket, l.VChannel, l.Start, compound)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "done: topic ID %s, %s\n", after.TopicID, positionsText(after))
	return err
}

func (c *AcceptLogCommand) show(w io.Writer, doc *checkpoints.Document, l flows.Log) {
	open, empty := 0, 0
	for _, s := range doc.Segments {
		switch s.State {
		case checkpoints.Normal:
			open++
		case checkpoints.New:
			empty++
		}
	}
	fmt.Fprintf(w, "%s\nstored: topic ID %s, %s\n", doc.VChannel, doc.TopicID, positionsText(doc))
	fmt.Fprintf(w, "Kafka:  topic ID %s, offsets %d to %d\n", l.VChannel.TopicID, l.Start, l.End)
	fmt.Fprintf(w, "%d open segments of the old log are sealed as they are, %d without rows are forgotten. What is stored stays.\n", open, empty)
	fmt.Fprintf(w, "Rows of the old log from offset %d on that are not stored are gone with it.\n", doc.Seek.Offset)
	fmt.Fprintf(w, "The new log is read from offset %d. Its rows go to new segments, also those that name segments of the old log.\n", l.Start)
	fmt.Fprint(w, fencesText)
}
