package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"flowgraph/checkpoints"
	"flowgraph/flows"
	"flowgraph/internal/archive"
	"flowgraph/sinks"
)

// acceptCut goes on with a log of the same topic that was cut back: it lost its
// end, from at on, after that was read.
func (c *AcceptLogCommand) acceptCut(p *Process, bucket *sinks.Bucket, l flows.Log, doc *checkpoints.Document, at checkpoints.Position) error {
	tail, next, err := c.foresee(p.Stop, bucket, at, l.Start)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "%s, topic ID %s\nstored: %s, rows of offsets below %d\n", doc.VChannel, doc.TopicID, positionsText(doc), doc.Covered().Offset)
	fmt.Fprintf(p.Stdout, "Kafka:  offsets %d to %d; up to %d it is the log that was read, from there on it holds other records\n", l.Start, l.End, at.Offset)
	if err := showTail(p.Stdout, tail, at.Offset); err != nil {
		return err
	}
	showUndone(p.Stdout, doc, next)
	fmt.Fprintf(p.Stdout, "to:     epoch %d, read from %d, seek position %d\n", doc.Epoch+1, next.ReadFrom.Offset, next.Seek.Offset)
	fmt.Fprint(p.Stdout, fencesText)
	if !c.Yes {
		return errNothingChanged
	}
	after, err := checkpoints.AcceptCutBack(p.Kill, bucket, l.VChannel, at, doc.Epoch, l.Start)
	if errors.Is(err, checkpoints.ErrFenced) {
		return fmt.Errorf("%w: run the command again", err)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "done: cut back at %d, %s\n", at.Offset, positionsText(after))
	return err
}

// sameLog is what a log that was not cut back since is told.
func sameLog(doc *checkpoints.Document) error {
	if n := len(doc.CutBacks); n > 0 && doc.CutBacks[n-1].TopicID == doc.TopicID {
		last := doc.CutBacks[n-1]
		return fmt.Errorf("%s: that its log was cut back at %d was accepted in epoch %d, and it holds all that is stored of it since: %w",
			doc.VChannel, last.At.Offset, last.Epoch, checkpoints.ErrSameLog)
	}
	return fmt.Errorf("%s: its positions are of topic ID %s, that is the topic's, and the log holds all that is stored of it: %w",
		doc.VChannel, doc.TopicID, checkpoints.ErrSameLog)
}

// foresee is what is stored from the cut on, and the document as it would be.
func (c *AcceptLogCommand) foresee(ctx context.Context, bucket *sinks.Bucket, at checkpoints.Position, begin int64) ([]*archive.Segment, *checkpoints.Document, error) {
	next, err := loadDocument(ctx, bucket, c.VChannel)
	if err != nil {
		return nil, nil, err
	}
	a, err := archive.Open(ctx, bucket)
	if err != nil {
		return nil, nil, err
	}
	tail, err := a.Tail(ctx, c.VChannel, at.Offset)
	next.CutBack(at, begin, nil)
	return tail, next, err
}

func showTail(out io.Writer, tail []*archive.Segment, at int64) error {
	var rows, deletes, partly int64
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(tail) > 0 {
		fmt.Fprintln(w, "\n  SEGMENT\tCOLLECTION\tPARTITION\tLEVEL\tROWS\tSTART\tEND")
	}
	for _, s := range tail {
		fmt.Fprintf(w, "  %d\t%s\t%s\t%s\t%d\t%d\t%d\n", s.ID, cmp.Or(s.CollectionName, fmt.Sprint(s.Collection)), partitionText(s), s.Level, s.Rows, s.Start.Offset, s.End.Offset)
		if s.Start.Offset < at {
			partly++
		}
		if s.Level == checkpoints.L0 {
			deletes += s.Rows
		} else {
			rows += s.Rows
		}
	}
	if err := w.Flush(); err != nil || len(tail) == 0 {
		fmt.Fprintln(out, "Nothing but positions is stored from there on.")
		return err
	}
	fmt.Fprintf(out, "\nThese %d segments hold what Kafka has lost: of %d rows and %d deletes those from %d on", len(tail), rows, deletes, at)
	if partly > 0 {
		fmt.Fprintf(out, " (%d segments begin before it)", partly)
	}
	fmt.Fprintln(out, ".\nAll of it stays and can be read. Rows that still come for them go to segments of the archive's own.")
	return nil
}

// showUndone tells of drops that the log does not hold any more.
func showUndone(w io.Writer, doc, next *checkpoints.Document) {
	for id, c := range doc.Collections {
		if c.Dropped != nil && next.Collections[id].Dropped == nil {
			fmt.Fprintf(w, "Collection %d was dropped at %d, of which the log does not tell any more: it counts as alive.\n", id, c.Dropped.Offset)
		}
		for pid, p := range c.Partitions {
			if p.Dropped != nil && next.Collections[id].Partitions[pid].Dropped == nil {
				fmt.Fprintf(w, "Partition %d of collection %d was dropped at %d, of which the log does not tell any more: it counts as alive.\n", pid, id, p.Dropped.Offset)
			}
		}
	}
}
