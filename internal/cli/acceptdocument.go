package cli

import (
	"fmt"
	"io"

	"github.com/rs/zerolog"

	"flowgraph/checkpoints"
	"flowgraph/flows"
	"flowgraph/internal/archive"
)

// AcceptDocumentCommand makes a bucket agree with a checkpoint document that is
// older than what lies around it.
type AcceptDocumentCommand struct {
	AcceptFlags
}

// Run shows what would be done, and does it if told so. Stopped on the way it
// may be run again.
func (c *AcceptDocumentCommand) Run(p *Process, log zerolog.Logger) error {
	bucket, err := c.S3Flags.open(p.Stop, log)
	if err != nil {
		return err
	}
	defer bucket.Close()
	d, err := c.look(p, bucket, log)
	if err != nil {
		return err
	}
	told := newProgress(p.Stderr, objectsSeen)
	ahead, err := archive.FindAhead(p.Stop, watchedBucket{bucket, told.more}, d.doc)
	told.end()
	if err != nil {
		return err
	}
	missing := c.missing(d.doc, ahead)
	c.show(p.Stdout, d.doc, ahead, missing)
	if ahead.Nothing() && missing == 0 && d.doc.Unsettled == 0 && ahead.Epoch <= d.doc.Epoch {
		_, err := fmt.Fprintln(p.Stdout, "The bucket agrees with the document: a worker goes on from it as it is.")
		return err
	}
	if err := readable(d.doc, d.log, ahead); err != nil {
		return err
	}
	fmt.Fprint(p.Stdout, fencesText)
	if !c.Yes {
		return errNothingChanged
	}
	after, err := ahead.Accept(p.Kill, bucket, bucket, d.log.VChannel, bucket.Home())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "done: %s\n", positionsText(after))
	return err
}

func (c *AcceptDocumentCommand) missing(doc *checkpoints.Document, a *archive.Ahead) int64 {
	if doc.Manifests == nil {
		return 0
	}
	return max(0, *doc.Manifests-a.Counted)
}

func (c *AcceptDocumentCommand) show(w io.Writer, doc *checkpoints.Document, a *archive.Ahead, missing int64) {
	fmt.Fprintf(w, "%s, topic ID %s\n", doc.VChannel, doc.TopicID)
	fmt.Fprintf(w, "now:   %s\n", positionsText(doc))
	fmt.Fprintf(w, "to:    epoch %d, the same positions\n", max(doc.Epoch, a.Epoch)+1)
	if !a.Nothing() {
		fmt.Fprintf(w, "ahead: %d closed segments of %d rows and %d deletes, up to offset %d; %d DDL events; statistics of %d segments\n",
			len(a.Manifests), a.Rows, a.Deletes, a.End, len(a.Events), len(a.Compounds))
		fmt.Fprintf(w, "What lies ahead of the document is taken out of the archive, and the log is read again from offset %d, which stores it anew.\n", doc.ReadFrom.Offset)
	}
	if missing > 0 {
		fmt.Fprintf(w, "%d of %d closed segments are missing. Their rows stay missing: they lie below what is read again.\n", missing, *doc.Manifests)
	}
}

// readable refuses to take away what the log does not have any more.
func readable(doc *checkpoints.Document, l flows.Log, a *archive.Ahead) error {
	switch {
	case l.VChannel.TopicID != doc.TopicID:
		return fmt.Errorf("%s: its positions are of topic ID %s, the topic now has ID %s: %w", doc.VChannel, doc.TopicID, l.VChannel.TopicID, checkpoints.ErrTopicRecreated)
	case a.Nothing():
		return nil
	case l.Start > doc.ReadFrom.Offset:
		return fmt.Errorf("the log begins at %d now, and must be read from %d: what lies ahead could not be stored again, and nothing is removed", l.Start, doc.ReadFrom.Offset)
	case l.End < a.End:
		return fmt.Errorf("the log ends at %d, what lies ahead reaches to %d: it could not be stored again, and nothing is removed", l.End, a.End)
	}
	return nil
}
