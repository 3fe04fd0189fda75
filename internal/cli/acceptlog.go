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
	AcceptFlags
}

// Run shows what would be done, and does it if told so. After an error it may
// be run again.
func (c *AcceptLogCommand) Run(p *Process, log zerolog.Logger) error {
	bucket, err := c.S3Flags.open(p.Stop, log)
	if err != nil {
		return err
	}
	defer bucket.Close()
	d, err := c.look(p, bucket, log)
	if err != nil {
		return err
	}
	if d.log.VChannel.TopicID != d.doc.TopicID {
		return c.acceptNew(p, bucket, d)
	}
	at, cut, err := flows.DescribeCut(p.Stop, d.client, d.log, d.doc)
	switch {
	case err != nil:
		return d.explain(err)
	case !cut:
		return sameLog(d.doc)
	}
	return c.acceptCut(p, bucket, d.log, d.doc, at)
}

// acceptNew goes on with the log of a topic that was created anew.
func (c *AcceptLogCommand) acceptNew(p *Process, bucket *sinks.Bucket, d dispute) error {
	c.show(p.Stdout, d.doc, d.log)
	if !c.Yes {
		return errNothingChanged
	}
	compound := func(ctx context.Context, s *checkpoints.Segment, meta map[string]string) error {
		return sinks.PutCompound(ctx, bucket, s, meta)
	}
	after, err := checkpoints.AcceptLog(p.Kill, bucket, d.log.VChannel, d.log.Start, compound)
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
