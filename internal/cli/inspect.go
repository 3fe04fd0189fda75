package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"flowgraph/checkpoints"
	"flowgraph/internal/archive"
)

// InspectCommand shows what a bucket holds, from the bucket alone.
type InspectCommand struct {
	S3Flags
	VChannel []string `name:"vchannel" help:"Only these vchannels, named <topic>-<partition>." placeholder:"NAME" group:"Inspect"`
	Objects  bool     `help:"Print the key of every object that belongs to the archive, one a line: what a copy needs. Copy the documents (checkpoints/) before you list." group:"Inspect"`
	JSON     bool     `name:"json" help:"Print JSON." group:"Inspect"`
	Format   string   `help:"flowgraph, or milvus for one datapb.VchannelInfo in protobuf's JSON for each collection of --vchannel." enum:"flowgraph,milvus" default:"flowgraph" placeholder:"FORMAT" group:"Inspect"`
	Binary   bool     `help:"With --format milvus: the messages in binary; if there are several, each behind its length as a varint." group:"Inspect"`
}

// Run prints. It goes on behind what cannot be read and fails in the end.
func (c *InspectCommand) Run(p *Process, log zerolog.Logger) error {
	bucket, err := c.S3Flags.open(p.Stop, log)
	if err != nil {
		return err
	}
	defer bucket.Close()
	told := newProgress(p.beside(c.Objects || c.JSON), objectsSeen)
	defer told.end()
	a, err := archive.Open(p.Stop, watchedBucket{bucket, told.more})
	if err != nil {
		return err
	}
	for _, name := range c.VChannel {
		if a.VChannel(name) == nil {
			return fmt.Errorf("there is no vchannel %s in %s%s", name, bucket.Name(), suggestion(name, vchannelNames(a)))
		}
	}
	if c.Format == "milvus" {
		return c.milvus(p.Stop, a, p)
	}
	if c.Objects {
		return c.objects(p.Stop, a, p.Stdout)
	}
	i := &inspection{archive: a, only: c.only, ready: told.end}
	if err := a.LoadHistory(p.Stop); err != nil {
		i.problem(err) // names are missing, the rest is there
	}
	if c.JSON {
		err = i.json(p.Stop, p.Stdout)
	} else {
		err = i.tables(p.Stop, p.Stdout)
	}
	return errors.Join(append(i.problems, err)...)
}

func (c *InspectCommand) only(vchannel string) bool {
	return len(c.VChannel) == 0 || slices.Contains(c.VChannel, vchannel)
}

func vchannelNames(a *archive.Archive) []string {
	var names []string
	for _, v := range a.VChannels() {
		names = append(names, v.Name)
	}
	return names
}

// objects prints keys as they are in the bucket. It ends with the first
// error: a list that is not whole must not be taken for one.
func (c *InspectCommand) objects(ctx context.Context, a *archive.Archive, w io.Writer) error {
	out := newLines(w)
	for key, err := range a.References(ctx, c.only) {
		if err != nil {
			return errors.Join(err, out.Flush())
		}
		line := []byte(path.Join(c.S3Root, key))
		if c.JSON {
			if line, err = json.Marshal(string(line)); err != nil {
				return err
			}
		}
		if err := out.line(line); err != nil {
			return err
		}
	}
	return out.Flush()
}

// inspection is what one inspect prints.
type inspection struct {
	archive  *archive.Archive
	only     func(vchannel string) bool
	totals   map[string]*totals // by vchannel
	ready    func()             // called before the tables, when everything is read
	problems []error
}

// totals are a vchannel's segments summed up.
type totals struct {
	States        [4]int // by checkpoints.State
	Rows, Deletes int64
	Bytes         int64
}

func (i *inspection) problem(err error) { i.problems = append(i.problems, err) }

// segments calls f for each segment and sums them up.
func (i *inspection) segments(ctx context.Context, f func(*archive.Segment) error) error {
	i.totals = map[string]*totals{}
	for s, err := range i.archive.Segments(ctx) {
		if err != nil {
			i.problem(err)
			continue
		}
		if !i.only(s.VChannel) {
			continue
		}
		i.of(s.VChannel).add(s)
		if err := f(s); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (i *inspection) of(vchannel string) *totals {
	t := i.totals[vchannel]
	if t == nil {
		t = &totals{}
		i.totals[vchannel] = t
	}
	return t
}

func (t *totals) add(s *archive.Segment) {
	t.States[s.State]++
	t.Bytes += s.Bytes
	if isDeletes(s) {
		t.Deletes += s.Rows
	} else {
		t.Rows += s.Rows
	}
}

// states says how many segments are in which state.
func (t *totals) states() string {
	var parts []string
	for state, n := range t.States {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, checkpoints.State(state)))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
