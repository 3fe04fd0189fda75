package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/rs/zerolog"

	"flowgraph/internal/archive"
)

// GCCommand shows or removes what nothing refers to any more.
type GCCommand struct {
	S3Flags
	VChannel      string   `name:"vchannel" help:"Only what this vchannel's workers left, named <topic>-<partition>." placeholder:"NAME" group:"GC"`
	Delete        bool     `help:"Remove what is found; without it nothing is changed." group:"GC"`
	ExpireDropped Duration `help:"Also remove the rows and deletes of collections that were dropped at least so long ago. No moment of them can be restored afterwards; they are named." placeholder:"TIME" group:"GC"`
	Keys          bool     `help:"Print the key of every object that is found, one a line." group:"GC"`
	JSON          bool     `name:"json" help:"Print JSON: a line an object, and a last line with the sums." group:"GC"`
}

// garbage sums up what was found of one kind and vchannel.
type garbage struct {
	VChannel string `json:"vchannel,omitempty"`
	Expired  int64  `json:"expired_collection,omitempty"`
	Kind     string `json:"kind"`
	Objects  int64  `json:"objects"`
	Bytes    int64  `json:"bytes"`
}

// Run finds garbage, prints what it is and removes it if told so. Stopped on
// the way or run again it does no harm.
func (c *GCCommand) Run(p *Process, log zerolog.Logger) error {
	bucket, err := c.S3Flags.open(p.Stop, log)
	if err != nil {
		return err
	}
	defer bucket.Close()
	o := archive.GarbageOptions{VChannel: c.VChannel, Now: time.Now(), ExpireAfter: time.Duration(c.ExpireDropped)}
	if c.Delete {
		o.Remove = bucket
	}
	told := newProgress(p.beside(c.Keys || c.JSON), objectsSeen)
	defer told.end()
	g, err := archive.NewCollector(p.Stop, watchedBucket{bucket, told.more}, o)
	if err != nil {
		return err
	}
	out := newLines(p.Stdout)
	sums, all := map[garbage]*garbage{}, garbage{}
	for found, err := range g.Garbage(p.Stop) {
		if err != nil {
			told.end()
			return errors.Join(fmt.Errorf("after %d objects: %w", all.Objects, err), out.Flush())
		}
		key := garbage{VChannel: found.VChannel, Expired: found.Expired, Kind: found.Kind}
		if sums[key] == nil {
			sum := key
			sums[key] = &sum
		}
		sums[key].add(found)
		all.add(found)
		if err := c.line(out, found); err != nil {
			return err
		}
	}
	told.end()
	list := sorted(sums)
	if c.JSON {
		err = c.json(out, list, g)
	} else {
		err = c.table(out, list, all, g)
	}
	// What cannot be read is protected, and it is told: it is damage.
	return errors.Join(append(g.Unreadable, err, out.Flush())...)
}

func (s *garbage) add(g archive.Garbage) {
	s.Objects++
	s.Bytes += g.Size
}

// whose is the first column of the table.
func (s *garbage) whose() string {
	if s.Expired != 0 {
		return fmt.Sprintf("(collection %d)", s.Expired)
	}
	return orDash(s.VChannel)
}

// expired names the moments that are lost.
func (c *GCCommand) expired(out io.Writer, list []archive.Expired) {
	verb := "would expire"
	if c.Delete {
		verb = "has expired"
	}
	for _, e := range list {
		from := "the beginning"
		if e.Created > 0 {
			from = hybrid(e.Created)
		}
		fmt.Fprintf(out, "Collection %s (%d), dropped %s, %s: no moment from %s on can be restored any more.\n",
			orDash(e.Name), e.Collection, hybrid(e.Dropped), verb, from)
	}
}

func sorted(sums map[garbage]*garbage) []*garbage {
	list := []*garbage{}
	for _, s := range sums {
		list = append(list, s)
	}
	slices.SortFunc(list, func(x, y *garbage) int {
		return cmp.Or(cmp.Compare(x.VChannel, y.VChannel), cmp.Compare(x.Expired, y.Expired), cmp.Compare(x.Kind, y.Kind))
	})
	return list
}

// line prints one object, with its key as it is in the bucket.
func (c *GCCommand) line(out lines, g archive.Garbage) error {
	g.Key = path.Join(c.S3Root, g.Key)
	switch {
	case c.JSON:
		text, err := json.Marshal(g)
		if err != nil {
			return err
		}
		return out.line(text)
	case c.Keys:
		return out.line([]byte(g.Key))
	}
	return nil
}

func (c *GCCommand) json(out lines, list []*garbage, g *archive.Collector) error {
	text, err := json.Marshal(struct {
		Deleted bool              `json:"deleted"`
		Expired []archive.Expired `json:"expired,omitempty"`
		Sums    []*garbage        `json:"sums"`
		Kept    archive.Kept      `json:"kept"`
	}{c.Delete, g.Expired, list, g.Kept})
	if err != nil {
		return err
	}
	return out.line(text)
}

func (c *GCCommand) table(out io.Writer, list []*garbage, all garbage, g *archive.Collector) error {
	c.expired(out, g.Expired)
	if len(list) > 0 {
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "VCHANNEL\tKIND\tOBJECTS\tBYTES")
		for _, s := range list {
			fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", s.whose(), s.Kind, s.Objects, approximate(s.Bytes))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	for _, k := range []struct {
		count int64
		why   string
	}{
		{g.Kept.Current, "they are of the last epoch of their vchannel and may still be referred to"},
		{g.Kept.Protected, "what refers to them perhaps cannot be read"},
		{g.Kept.Unknown, "they do not tell whose they are"},
		{g.Kept.Young, "they are the probes of workers that started within a day"},
	} {
		if k.count > 0 {
			fmt.Fprintf(out, "%d objects to which nothing refers stay: %s\n", k.count, k.why)
		}
	}
	switch {
	case all.Objects == 0:
		_, err := fmt.Fprintln(out, "There is nothing to remove.")
		return err
	case c.Delete:
		_, err := fmt.Fprintf(out, "Removed %d objects, %s.\n", all.Objects, approximate(all.Bytes))
		return err
	}
	_, err := fmt.Fprintf(out, "%d objects, %s, can be removed with --delete. Nothing was changed.\n", all.Objects, approximate(all.Bytes))
	return err
}
