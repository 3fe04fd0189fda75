package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/rs/zerolog"

	"flowgraph/internal/archive"
	"flowgraph/internal/export"
)

// ExportCommand writes the live rows of a collection as Parquet.
type ExportCommand struct {
	Collection string   `arg:"" help:"Name of the collection, or its ID: a name may have been given again."`
	Out        string   `help:"Folder in which <collection>/<partition>.parquet is made; all of it appears when it is whole." required:"" placeholder:"DIR" group:"Export"`
	Until      Moment   `help:"As of this moment: a time (RFC 3339; UTC where it names no zone) or a hybrid timestamp. Default: what the archive is complete up to." placeholder:"TIME" group:"Export"`
	Partition  []string `help:"Only these partitions, by name or ID." placeholder:"NAME" group:"Export"`
	Unique     bool     `help:"Of several live rows of one key in a partition only the one with the smallest timestamp, as a query of Milvus answers." group:"Export"`
	System     bool     `name:"with-system-columns" help:"Write RowID and Timestamp (the hybrid one) too." group:"Export"`
	Replace    bool     `help:"Replace the collection's folder if it is there." group:"Export"`
	S3Flags
}

// Run exports and prints what was written.
func (c *ExportCommand) Run(p *Process, log zerolog.Logger) error {
	bucket, err := c.S3Flags.open(p.Stop, log)
	if err != nil {
		return err
	}
	defer bucket.Close()
	told := newProgress(p.Stderr, objectsRead)
	defer told.end()
	a, err := archive.Open(p.Stop, watchedBucket{bucket, told.more})
	if err != nil {
		return err
	}
	live, err := findLive(p.Stop, a, archive.LiveOptions{Collection: c.Collection, Partitions: c.Partition, Until: uint64(c.Until), Unique: c.Unique})
	if err != nil {
		return err
	}
	result, err := export.Write(p.Stop, live, export.Options{
		Dir: c.Out, Replace: c.Replace, SystemColumns: c.System,
		Progress: func(done, total int64) { told.stage("rows", done, total) },
	})
	told.end()
	if errors.Is(err, export.ErrExists) {
		return fmt.Errorf("%w (--replace)", err)
	}
	if err != nil {
		return err
	}
	return errors.Join(beyond(p.Stderr, live), exportTable(p.Stdout, live, result))
}

// findLive suggests another name where there is no collection of the one given.
func findLive(ctx context.Context, a *archive.Archive, o archive.LiveOptions) (*archive.Live, error) {
	l, err := a.Live(ctx, o)
	if errors.Is(err, archive.ErrNoCollection) {
		others := slices.DeleteFunc(a.CollectionNames(), func(n string) bool { return n == o.Collection })
		err = fmt.Errorf("%w%s", err, suggestion(o.Collection, others))
	}
	return l, err
}

// beyond warns of a moment for which the archive is not whole, yet or at all.
func beyond(w io.Writer, l *archive.Live) error {
	if l.Since > 0 {
		_, err := fmt.Fprintf(w, "warning: the collection is older than its log: rows up to %s are not in the archive, and deletes of them have no effect\n", hybrid(l.Since))
		if err != nil {
			return err
		}
	}
	if l.Until <= l.Complete {
		return nil
	}
	text := "no time tick was read yet: rows and deletes may be missing"
	if l.Complete > 0 {
		text = fmt.Sprintf("the archive is complete only up to %s (timestamp %d): behind it rows and deletes may be missing", hybrid(l.Complete), l.Complete)
	}
	_, err := fmt.Fprintf(w, "warning: %s\n", text)
	return err
}

func exportTable(w io.Writer, l *archive.Live, r *export.Result) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "collection\t%s (%d)\nas of\t%s\ncomplete up to\t%s\n", cmp.Or(l.Name, "-"), l.Collection, moment(l.Until), hybrid(l.Complete))
	out.Flush() // the columns of what follows are others
	fmt.Fprintln(out, "\nPARTITION\tROWS\tBYTES\tFILE")
	var rows, bytes int64
	for _, f := range r.Files {
		fmt.Fprintf(out, "%s\t%d\t%s\t%s\n", cmp.Or(f.Name, fmt.Sprint(f.Partition)), f.Rows, approximate(f.Bytes), f.Path)
		rows, bytes = rows+f.Rows, bytes+f.Bytes
	}
	if len(r.Files) != 1 {
		fmt.Fprintf(out, "%d partitions\t%d\t%s\t%s\n", len(r.Files), rows, approximate(bytes), r.Dir)
	}
	return out.Flush()
}
