package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/rs/zerolog"

	"flowgraph/internal/archive"
)

// CollectionsCommand lists what can be exported and restored, of which time.
type CollectionsCommand struct {
	Rows bool `help:"Count the rows alive at each one's last moment; this reads all keys." group:"Collections"`
	S3Flags
}

// Run prints a line a collection.
func (c *CollectionsCommand) Run(p *Process, log zerolog.Logger) error {
	bucket, err := c.S3Flags.open(p.Stop, log)
	if err != nil {
		return err
	}
	defer bucket.Close()
	a, err := archive.Open(p.Stop, bucket)
	if err != nil {
		return err
	}
	lives, err := a.CollectionLives(p.Stop)
	if err != nil {
		return err
	}
	rows := map[int64]string{}
	for i := range lives {
		if c.Rows {
			if rows[lives[i].ID], err = liveCount(p, a, lives[i]); err != nil {
				return err
			}
		}
	}
	return collectionsTable(p.Stdout, lives, rows)
}

// liveCount is "-" for a collection that was not alive at any whole moment.
func liveCount(p *Process, a *archive.Archive, c archive.CollectionLife) (string, error) {
	l, err := a.Live(p.Stop, archive.LiveOptions{Collection: strconv.FormatInt(c.ID, 10), Until: c.Last})
	if errors.Is(err, archive.ErrNoCollection) {
		return "-", nil
	}
	if err != nil {
		return "", err
	}
	var n int64
	for _, part := range l.Partitions {
		rows, err := l.Count(p.Stop, part, nil)
		if err != nil {
			return "", err
		}
		n += rows
	}
	return strconv.FormatInt(n, 10), nil
}

func collectionsTable(w io.Writer, lives []archive.CollectionLife, rows map[int64]string) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	title := "COLLECTION\tID\tCREATED\tDROPPED\tWHOLE FROM\tWHOLE UP TO\tTIMESTAMP"
	if len(rows) > 0 {
		title += "\tROWS"
	}
	fmt.Fprintln(out, title)
	for _, c := range lives {
		created, dropped, first, last := "before the log", "-", "never", "-"
		if c.Created > 0 {
			created = hybrid(c.Created)
		}
		if c.Created > 0 && c.Since == 0 {
			first = created
		}
		if c.Dropped > 0 {
			dropped = hybrid(c.Dropped)
		}
		if c.Last > 0 {
			last = hybrid(c.Last)
		}
		if c.Expired {
			last = "expired"
		}
		fmt.Fprintf(out, "%s\t%d\t%s\t%s\t%s\t%s\t%d", cmp.Or(c.Name, "-"), c.ID, created, dropped, first, last, c.Last)
		if len(rows) > 0 {
			fmt.Fprintf(out, "\t%s", rows[c.ID])
		}
		fmt.Fprintln(out)
	}
	for _, c := range lives {
		if c.Since > 0 {
			fmt.Fprintf(out, "%s (%d) is older than its log: rows up to %s are not in the archive\n", cmp.Or(c.Name, "-"), c.ID, hybrid(c.Since))
		}
	}
	return out.Flush()
}
