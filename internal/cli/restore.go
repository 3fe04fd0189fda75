package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rs/zerolog"

	"flowgraph/internal/archive"
	"flowgraph/internal/restore"
	"flowgraph/sinks"
)

// RestoreCommand brings a collection back into a running Milvus.
type RestoreCommand struct {
	Milvus        Address  `help:"Milvus to restore into." placeholder:"HOST:PORT" group:"Restore"`
	Collection    string   `help:"Name of the collection in the archive, or its ID: a name may have been given again." required:"" placeholder:"NAME" group:"Restore"`
	As            string   `help:"Name of the collection in Milvus. Default: the one in the archive." placeholder:"NAME" group:"Restore"`
	Until         Moment   `help:"As of this moment: a time (RFC 3339; UTC where it names no zone) or a hybrid timestamp. Default: what the archive is complete up to." placeholder:"TIME" group:"Restore"`
	Partition     []string `help:"Only these partitions, by name or ID." placeholder:"NAME" group:"Restore"`
	DryRun        bool     `help:"Print what would be restored; Milvus is not asked." group:"Restore"`
	AddRows       bool     `help:"Restore into a collection that has rows already." group:"Restore"`
	InPlace       bool     `help:"Let Milvus read the rows of collections that still live in the archive itself, too, where its bucket is the one that Milvus reads: only while no worker runs." group:"Restore"`
	WithoutFuncs  bool     `name:"without-functions" help:"Restore a collection with functions (BM25) without them and without the fields that they compute: an import of Milvus does not compute them." group:"Restore"`
	AcceptNewKeys bool     `help:"Restore a collection whose keys Milvus makes (autoID), although it gives every row a new one." group:"Restore"`

	MilvusDatabase string `help:"Database in Milvus. Default: its default one." placeholder:"NAME" group:"Restore"`
	MilvusFlags

	StageEndpoint     Endpoint `help:"Store of the bucket that Milvus reads. Default: that of the archive." placeholder:"URL" group:"Staging"`
	StageBucket       string   `help:"The bucket that Milvus reads. Default: that of the archive." placeholder:"NAME" group:"Staging"`
	StageRoot         string   `help:"Path in it under which files lie while Milvus imports them." default:"flowgraph-restore" placeholder:"PATH" group:"Staging"`
	StageAccessKey    Secret   `help:"Access key of another store." placeholder:"KEY" group:"Staging"`
	StageSecretKey    Secret   `help:"Secret key of another store." placeholder:"KEY" group:"Staging"`
	StageSessionToken Secret   `help:"Session token of temporary keys of another store." placeholder:"TOKEN" group:"Staging"`
	S3Flags
}

// Validate refuses settings that contradict each other.
func (c *RestoreCommand) Validate() error {
	switch {
	case c.Milvus == "" && !c.DryRun:
		return errors.New("--milvus is missing: where to restore to, as 127.0.0.1:19530")
	case c.StageRoot == "":
		return errors.New("--stage-root is empty: files for Milvus must lie apart from everything else")
	case c.StageAccessKey.IsSet() != c.StageSecretKey.IsSet():
		return errors.New("--stage-access-key and --stage-secret-key belong together")
	case c.StageSessionToken.IsSet() && !c.StageAccessKey.IsSet():
		return errors.New("--stage-session-token needs --stage-access-key and --stage-secret-key")
	}
	return errors.Join(c.MilvusFlags.Validate(), c.S3Flags.Validate())
}

// Run restores and prints how many rows.
func (c *RestoreCommand) Run(p *Process, log zerolog.Logger) error {
	bucket, err := c.S3Flags.open(p.Stop, log)
	if err != nil {
		return err
	}
	defer bucket.Close()
	st, err := c.stage(bucket, log)
	if err != nil {
		return usageError{err}
	}
	defer st.Close()
	live, err := c.live(p, bucket, st)
	if err != nil {
		return err
	}
	told := newProgress(p.Stderr, "rows read")
	defer told.end()
	plan, err := restore.NewPlan(p.Stop, live, told.at)
	told.end()
	if err != nil {
		return err
	}
	if err := restorePlan(p.Stdout, plan, c.target(live)); err != nil || c.DryRun {
		return err
	}
	client, err := c.MilvusFlags.dial(c.Milvus, c.MilvusDatabase)
	if err != nil {
		return usageError{err}
	}
	defer client.Close()
	told = newProgress(p.Stderr, "flushes staged")
	defer told.end()
	o := c.options(c.target(live), log)
	o.Milvus, o.Archive, o.Stage, o.Progress = client, bucket, st, told.stage
	result, err := restore.Run(p.Stop, plan, o)
	told.end()
	if err != nil {
		return restoreError(err)
	}
	if result.InPlace > 0 {
		fmt.Fprintf(p.Stdout, "\nrows of %d of %d imports were read in the archive itself\n", result.InPlace, plan.Imports())
	}
	_, err = fmt.Fprintf(p.Stdout, "\nrestored %d rows into %s, as many as the archive has; an index is made and the collection loaded by you\n", result.Total, c.target(live))
	return err
}

// options are what the flags say, for a restore into target.
func (c *RestoreCommand) options(target string, log zerolog.Logger) restore.Options {
	return restore.Options{
		Target: target, AcceptNewKeys: c.AcceptNewKeys, WithoutFunctions: c.WithoutFuncs, AddRows: c.AddRows,
		Here: c.here(), Quiet: c.InPlace, Every: time.Second, Patience: 30,
		Stuck: func(task int64, partition string) {
			log.Warn().Int64("task", task).Str("partition", partition).
				Msgf("Milvus has not moved this import for a minute. After a restart of Milvus it may wait for a node that is gone, until rootCoord.importTaskExpiration (15 minutes): to have it sooner end this command, drop %s in Milvus and run the command again", target)
		},
	}
}

// restoreError adds what the user can do.
func restoreError(err error) error {
	switch {
	case errors.Is(err, restore.ErrKeys):
		return fmt.Errorf("%w (--accept-new-keys)", err)
	case errors.Is(err, restore.ErrFunctions):
		return fmt.Errorf("%w (--without-functions brings it back without; or export it, and insert or bulk-insert its rows)", err)
	case errors.Is(err, restore.ErrTarget):
		return fmt.Errorf("%w (--as NAME restores beside it)", err)
	case errors.Is(err, restore.ErrOccupied):
		return fmt.Errorf("%w (--as NAME restores beside it, --add-rows into it)", err)
	case errors.Is(err, restore.ErrLeft):
		return fmt.Errorf("%w\nthe same command removes it", err)
	case errors.Is(err, restore.ErrMilvus), errors.Is(err, restore.ErrImport), errors.Is(err, context.Canceled):
		return fmt.Errorf("%w\nthe same command goes on where this one broke off", err)
	}
	return err
}

func (c *RestoreCommand) target(l *archive.Live) string { return cmp.Or(c.As, l.Name) }

// live finds the collection; a restore that broke off is taken up at its own
// moment, unless another one is named.
func (c *RestoreCommand) live(p *Process, bucket *sinks.Bucket, st *stageBucket) (*archive.Live, error) {
	told := newProgress(p.Stderr, objectsRead)
	defer told.end()
	a, err := archive.Open(p.Stop, watchedBucket{bucket, told.more})
	if err != nil {
		return nil, err
	}
	o := archive.LiveOptions{Collection: c.Collection, Partitions: c.Partition, Until: uint64(c.Until)}
	live, err := findLive(p.Stop, a, o)
	if err != nil {
		return nil, err
	}
	if c.Until == 0 && !c.DryRun {
		if o.Until, err = restore.Unfinished(p.Stop, st, c.MilvusDatabase, c.target(live)); err != nil {
			return nil, err
		}
	}
	if o.Until != uint64(c.Until) {
		told.end()
		fmt.Fprintf(p.Stderr, "going on with the restore as of %s\n", moment(o.Until))
		if live, err = findLive(p.Stop, a, o); err != nil {
			return nil, err
		}
	}
	told.end()
	return live, beyond(p.Stderr, live)
}

// stageBucket is where files lie for Milvus.
type stageBucket struct {
	*sinks.Bucket
	archive *sinks.Bucket
	root    string
}

func (c *RestoreCommand) stage(from *sinks.Bucket, log zerolog.Logger) (*stageBucket, error) {
	cfg := c.S3Flags.Bucket(log)
	cfg.Root = c.StageRoot
	cfg.Endpoint, cfg.Bucket = cmp.Or(c.StageEndpoint.String(), cfg.Endpoint), cmp.Or(c.StageBucket, cfg.Bucket)
	if c.StageAccessKey.IsSet() {
		withKeys(&cfg, "stage", c.StageAccessKey, c.StageSecretKey, c.StageSessionToken, log)
	}
	b, err := sinks.NewBucket(cfg, log, sinks.Hooks{})
	return &stageBucket{b, from, c.StageRoot + "/"}, err
}

// here is how Milvus names an object of the archive, nil if it does not read
// that bucket.
func (c *RestoreCommand) here() func(string) string {
	if c.StageEndpoint.IsSet() && c.StageEndpoint.String() != c.S3Endpoint.String() || c.StageBucket != "" && c.StageBucket != c.S3Bucket {
		return nil
	}
	return func(key string) string { return strings.TrimPrefix(c.S3Root+"/"+key, "/") }
}

// Copy lets the store copy where both buckets are of one store.
func (s *stageBucket) Copy(ctx context.Context, source, key string) error {
	_, err := s.CopyFrom(ctx, s.archive, source, key)
	return err
}

// Path is a key as Milvus sees it.
func (s *stageBucket) Path(key string) string { return s.root + key }

func restorePlan(w io.Writer, plan *restore.Plan, target string) error {
	l := plan.Live
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "collection\t%s (%d)\ninto\t%s\nas of\t%s\ncomplete up to\t%s\n", cmp.Or(l.Name, "-"), l.Collection, target, moment(l.Until), hybrid(l.Complete))
	fmt.Fprintf(out, "deleted keys\t%d\n", l.DeletedKeys())
	out.Flush() // the columns of what follows are others
	fmt.Fprintln(out, "\nFIELD\tNAME\tTYPE")
	for _, f := range l.Fields[2:] {
		fmt.Fprintf(out, "%d\t%s\t%s\n", f.ID, f.Name, f.Type)
	}
	out.Flush()
	fmt.Fprintln(out, "\nPARTITION\tSEGMENTS\tROWS STORED\tROWS LIVE\tBYTES")
	for _, p := range plan.Partitions {
		fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%s\n", p.Name, len(p.Segments), p.Stored, p.Rows, approximate(p.Bytes))
	}
	segments, stored, rows, bytes := plan.Total()
	fmt.Fprintf(out, "%d partitions\t%d\t%d\t%d\t%s\n", len(plan.Partitions), segments, stored, rows, approximate(bytes))
	for _, warning := range plan.Warnings {
		fmt.Fprintf(out, "warning: %s\n", warning)
	}
	return out.Flush()
}

// moment writes a hybrid timestamp for people, with what one can copy.
func moment(ts uint64) string {
	if ts > uint64(1)<<63-2 {
		return "everything that is there"
	}
	return fmt.Sprintf("%s (timestamp %d)", hybrid(ts), ts)
}
