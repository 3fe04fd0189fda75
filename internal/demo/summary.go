package demo

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
)

// say tells what happens, with the seconds since the beginning.
func (s *show) say(format string, args ...any) {
	fmt.Fprintf(s.Out, "%5.1f s  %s\n", time.Since(s.begun).Seconds(), fmt.Sprintf(format, args...))
}

// tellKill says what the bucket holds of the worker just killed.
func (s *show) tellKill(ctx context.Context) error {
	s.say("SIGKILL for worker 1, with %s of %s records written. The bucket knows:",
		number(s.written.Load()), number(s.traffic.records))
	a, err := archive.Open(ctx, s.bucket)
	if err != nil {
		return err
	}
	for _, v := range a.VChannels() {
		if v.Err != nil {
			return v.Err
		}
		fmt.Fprintf(s.Out, "         %s: seek position %d, to be read again from %d\n", v.Name, v.Doc.Seek.Offset, v.Doc.ReadFrom.Offset)
	}
	return nil
}

// summary is what the show ends with.
func (s *show) summary(ctx context.Context, r *archive.Report, want *archive.Expected, again int64) error {
	a, err := archive.Open(ctx, s.bucket)
	if err != nil {
		return err
	}
	if err := a.LoadHistory(ctx); err != nil {
		return err
	}
	for _, v := range a.VChannels() {
		if v.Err != nil {
			return v.Err
		}
		fmt.Fprintf(s.Out, "\n%s: %s records in the log, seek position %d, epoch %d\n\n",
			v.Name, number(s.traffic.ends[v.Name]), v.Doc.Seek.Offset, v.Doc.Epoch)
		if err := s.segments(ctx, a, v.Name); err != nil {
			return err
		}
	}
	fmt.Fprintf(s.Out, "\nAfter the kill worker 2 read %s persisted rows and deletes again and dropped them.\n", number(again))
	if r.Unreferenced > 0 {
		fmt.Fprintf(s.Out, "Worker 1 left %s files that it had not committed; nothing refers to them.\n", number(r.Unreferenced))
	}
	if err := r.Err(); err != nil {
		fmt.Fprintf(s.Out, "\n%s", r)
		return nil
	}
	fmt.Fprintf(s.Out, "Every one of the %s rows and %s deletes in the log is in the bucket exactly once, byte for byte.\n",
		number(want.Rows), number(want.Deletes))
	store := s.store.Config()
	fmt.Fprintf(s.Out, "\nThe %s binlogs (%s) are plain files in %s\n", number(r.Objects), kibibytes(r.Bytes),
		filepath.Join(store.Dir, store.Bucket, "files"))
	fmt.Fprintf(s.Out, "Serve them again: flowgraph dev --dir %s\n", s.Dir)
	return nil
}

// segments prints the table of a vchannel's segments in the order of the log.
func (s *show) segments(ctx context.Context, a *archive.Archive, vchannel string) error {
	var list []*archive.Segment
	for seg, err := range a.Segments(ctx) {
		if err != nil {
			return err
		}
		if seg.VChannel == vchannel {
			list = append(list, seg)
		}
	}
	slices.SortFunc(list, func(x, y *archive.Segment) int { return x.Start.Compare(y.Start) })
	t := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  COLLECTION\tPARTITION\tSEGMENT\tSTATE\tROWS\tDELETES\tFLUSHES\t[START, END)")
	for _, seg := range list {
		rows, deletes := number(seg.Rows), ""
		if seg.Level == checkpoints.L0 {
			rows, deletes = deletes, rows
		}
		logs, _, err := a.Logs(ctx, seg)
		if err != nil {
			return err
		}
		fmt.Fprintf(t, "  %s\t%s\t%d\t%s\t%s\t%s\t%d\t[%d, %d)\n", seg.CollectionName, partitionName(seg),
			seg.ID, seg.State, rows, deletes, len(logs), seg.Start.Offset, seg.End.Offset)
	}
	return t.Flush()
}

func partitionName(s *archive.Segment) string {
	if s.Partition == -1 {
		return "(all)"
	}
	return s.PartitionName
}

// number writes a count with commas.
func number(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func kibibytes(n int64) string { return number((n+1023)/1024) + " KiB" }
