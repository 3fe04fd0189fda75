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
	told := newProgress(p.Stderr, objectsRead)
	defer told.end()
	a, err := archive.Open(p.Stop, watchedBucket{bucket, told.more})
	if err != nil {
		return err
	}
	lives, err := a.CollectionLives(p.Stop)
	if err != nil {
		return err
	}
	rows := map[int64]string{}
	if c.Rows {
		if rows, err = liveCounts(p, a, lives, told); err != nil {
			return err
		}
	}
	told.end()
	return collectionsTable(p.Stdout, lives, rows)
}

// liveCounts are those of all collections.
func liveCounts(p *Process, a *archive.Archive, lives []archive.CollectionLife, told *progress) (map[int64]string, error) {
	stored, total := map[int64]int64{}, int64(0)
	for s, err := range a.Segments(p.Stop) {
		if err == nil && !isDeletes(s) { // what cannot be read is an error where it is needed
			stored[s.Collection], total = stored[s.Collection]+s.Rows, total+s.Rows
		}
	}
	rows, done := map[int64]string{}, int64(0)
	for _, c := range lives {
		here := done
		count, err := liveCount(p, a, c, func(n int64) {
			here += n
			told.stage("rows", here, total)
		})
		if err != nil {
			return nil, err
		}
		rows[c.ID], done = count, done+stored[c.ID] // some were not looked at
	}
	return rows, nil
}

// liveCount is "-" for a collection that was not alive at any whole moment.
func liveCount(p *Process, a *archive.Archive, c archive.CollectionLife, read func(rows int64)) (string, error) {
	l, err := a.Live(p.Stop, archive.LiveOptions{Collection: strconv.FormatInt(c.ID, 10), Until: c.Last})
	if errors.Is(err, archive.ErrNoCollection) {
		return "-", nil
	}
	if err != nil {
		return "", err
	}
	var n int64
	for _, part := range l.Partitions {
		rows, err := l.Count(p.Stop, part, read)
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
