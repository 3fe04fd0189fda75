package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
)

// tables prints the vchannels, then each one's collections and segments.
func (i *inspection) tables(ctx context.Context, w io.Writer) error {
	var all []*archive.Segment
	if err := i.segments(ctx, func(s *archive.Segment) error {
		all = append(all, s)
		return nil
	}); err != nil {
		return err
	}
	i.ready()
	slices.SortStableFunc(all, func(a, b *archive.Segment) int {
		return cmp.Or(cmp.Compare(a.VChannel, b.VChannel), cmp.Compare(a.Collection, b.Collection),
			cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Start.Offset, b.Start.Offset))
	})
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	i.vchannels(out)
	for _, v := range i.archive.VChannels() {
		n := 0
		for n < len(all) && all[n].VChannel <= v.Name {
			n++
		}
		switch {
		case v.Doc != nil && i.only(v.Name):
			i.vchannel(out, v, all[:n])
		case n > 0:
			fmt.Fprintf(out, "\n%s, whose document cannot be read\n", v.Name)
			i.segmentTable(out, all[:n])
		}
		all = all[n:]
	}
	if len(all) > 0 {
		fmt.Fprintf(out, "\nsegments of vchannels that never had a document\n")
		i.segmentTable(out, all)
	}
	return out.Flush()
}

// vchannels prints one line a vchannel.
func (i *inspection) vchannels(w io.Writer) {
	fmt.Fprintln(w, "VCHANNEL\tREAD FROM\tSEEK POSITION\tCOMPLETE UP TO\tEPOCH\tROWS\tDELETES\tBYTES\tSEGMENTS")
	for _, v := range i.archive.VChannels() {
		if !i.only(v.Name) {
			continue
		}
		if v.Err != nil {
			i.problem(v.Err)
			fmt.Fprintf(w, "%s\tcannot be read: %v\n", v.Name, v.Err)
			continue
		}
		t := i.of(v.Name)
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%d\t%d\t%d\t%s\t%s\n", v.Name, v.Doc.ReadFrom.Offset, v.Doc.Seek.Offset,
			hybrid(v.Doc.Seek.Tick), v.Doc.Epoch, t.Rows, t.Deletes, approximate(t.Bytes), t.states())
	}
}

// vchannel prints what else there is to say of one.
func (i *inspection) vchannel(w *tabwriter.Writer, v *archive.VChannel, segments []*archive.Segment) {
	w.Flush() // the columns of what follows are others
	d := v.Doc
	fmt.Fprintf(w, "\n%s\n", v.Name)
	fmt.Fprintf(w, "  topic ID\t%s\n  owner\t%s, epoch %d\n  seek position\t%d, %s\n", d.TopicID, d.Owner, d.Epoch, d.Seek.Offset, heldBack(v.Holders()))
	for _, c := range d.CutBacks {
		if c.TopicID == d.TopicID {
			fmt.Fprintf(w, "  cut back\tat %d, accepted in epoch %d: what is stored of before from there on is of records that the log has lost\n", c.At.Offset, c.Epoch)
		}
	}
	if d.ReadFrom.Offset < d.Seek.Offset {
		fmt.Fprintf(w, "  read from\t%d: below the seek position are open transactions, or messages that a producer may still send again\n", d.ReadFrom.Offset)
	}
	w.Flush()
	i.collections(w, v)
	i.segmentTable(w, segments)
	w.Flush()
}

// heldBack says what can be known of what holds a seek position back.
func heldBack(h archive.Holders) string {
	switch {
	case len(h.Certain) > 0:
		return fmt.Sprintf("held back by segment %d, whose first row is there and not stored yet", h.Certain[0].ID)
	case len(h.Possible) == 1:
		return fmt.Sprintf("the end of what was read, or held back by rows of open segment %d that are in a worker's memory (the bucket does not tell)", h.Possible[0].ID)
	case len(h.Possible) > 1:
		return fmt.Sprintf("the end of what was read, or held back by rows of one of %d open segments that are in a worker's memory (the bucket does not tell)", len(h.Possible))
	}
	return "the end of what was read: no open segment ends before it"
}

func (i *inspection) collections(w io.Writer, v *archive.VChannel) {
	fmt.Fprintln(w, "\n  COLLECTION\tNAME\tPARTITION\tNAME\tDROPPED")
	for _, c := range v.Collections(i.archive) {
		fmt.Fprintf(w, "  %d\t%s\t\t\t%s\n", c.ID, orDash(c.Name), dropText(c.Dropped))
		for _, p := range c.Partitions {
			name := orDash(p.Name)
			if p.ID == allPartitions {
				name = "(deletes in all partitions)"
			}
			fmt.Fprintf(w, "  \t\t%d\t%s\t%s\n", p.ID, name, dropText(p.Dropped))
		}
	}
}

func (i *inspection) segmentTable(w io.Writer, segments []*archive.Segment) {
	if len(segments) == 0 {
		return
	}
	fmt.Fprintln(w, "\n  SEGMENT\tCOLLECTION\tPARTITION\tLEVEL\tSTATE\tROWS\tBYTES\tSTART\tEND\tFLUSHES\tLAST ROW")
	for _, s := range segments {
		fmt.Fprintf(w, "  %d\t%s\t%s\t%s\t%s\t%d\t%s\t%d\t%d\t%s\t%s\n", s.ID, cmp.Or(s.CollectionName, fmt.Sprint(s.Collection)),
			partitionText(s), s.Level, s.State, s.Rows, approximate(s.Bytes),
			s.Start.Offset, s.End.Offset, flushesText(s), unixMilli(s.LastTime))
	}
}

func partitionText(s *archive.Segment) string {
	if s.Partition == allPartitions {
		return "(all)"
	}
	return cmp.Or(s.PartitionName, fmt.Sprint(s.Partition))
}

func flushesText(s *archive.Segment) string {
	if len(s.Chunks) == 0 {
		return fmt.Sprint(len(s.Logs))
	}
	return fmt.Sprintf("%d and %d chunks", len(s.Logs), len(s.Chunks))
}

func dropText(d *checkpoints.Drop) string {
	if d == nil {
		return ""
	}
	return fmt.Sprintf("at offset %d, %s", d.Offset, hybrid(d.Timestamp))
}

// allPartitions stands for the deletes that concern all partitions.
const allPartitions = -1

func isDeletes(s *archive.Segment) bool { return s.Level == checkpoints.L0 }

// hybrid writes a hybrid timestamp's physical part.
func hybrid(ts uint64) string {
	if ts == 0 {
		return "-"
	}
	return unixMilli(int64(ts >> counterBits))
}

func unixMilli(ms int64) string {
	if ms == 0 {
		return "-"
	}
	return strings.Replace(time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z"), ".000Z", "Z", 1)
}

func orDash(s string) string { return cmp.Or(s, "-") }
