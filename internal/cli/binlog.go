package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/rs/zerolog"

	"flowgraph/checkpoints"
	"flowgraph/sinks/binlog"
)

// BinlogCommand prints one binlog.
type BinlogCommand struct {
	File  string   `arg:"" help:"A file; or, where there is none of this name, the key of an object in the bucket, with or without the root before it."`
	Limit RowLimit `help:"Rows to print; 0 for all, as with --json. Default: 20." placeholder:"N" group:"Binlog"`
	JSON  bool     `name:"json" help:"Print JSON lines: the header, then a row a line." group:"Binlog"`
	OptionalS3Flags
}

// OptionalS3Flags are the flags of a bucket for a command that may do without
// one; it checks them itself where it does not.
type OptionalS3Flags S3Flags

// Validate asks for a bucket only where it is needed.
func (c *BinlogCommand) Validate() error {
	if c.isFile() {
		return nil
	}
	if !c.S3Endpoint.IsSet() {
		return fmt.Errorf("there is no file %s; to read it from a bucket give --s3-endpoint", c.File)
	}
	return S3Flags(c.OptionalS3Flags).Validate()
}

func (c *BinlogCommand) isFile() bool {
	info, err := os.Stat(c.File)
	return err == nil && !info.IsDir()
}

// Run reads and prints.
func (c *BinlogCommand) Run(p *Process, log zerolog.Logger) error {
	data, err := c.read(p.Stop, log)
	if err != nil {
		return err
	}
	d := dump{out: newLines(p.Stdout), json: c.JSON, limit: c.Limit.rows(c.JSON), size: len(data)}
	switch trimmed := bytes.TrimSpace(data); {
	case len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '['):
		err = d.plain(trimmed)
	case binlog.AreTokenStats(data):
		err = d.tokens(data)
	default:
		err = d.binlog(data)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", c.File, err), d.out.Flush())
	}
	return d.out.Flush()
}

// read returns the file's or the object's bytes.
func (c *BinlogCommand) read(ctx context.Context, log zerolog.Logger) ([]byte, error) {
	if c.isFile() {
		return os.ReadFile(c.File)
	}
	bucket, err := S3Flags(c.OptionalS3Flags).open(ctx, log)
	if err != nil {
		return nil, err
	}
	defer bucket.Close()
	key := strings.TrimPrefix(c.File, "/")
	if c.S3Root != "" {
		key = strings.TrimPrefix(key, c.S3Root+"/")
	}
	data, _, err := bucket.Get(ctx, key)
	if errors.Is(err, checkpoints.ErrNotExist) {
		return nil, fmt.Errorf("there is neither a file %s nor an object %s under %s/%s", c.File, key, bucket.Name(), c.S3Root)
	}
	return data, err
}

// RowLimit is how many rows are printed.
type RowLimit struct {
	given bool
	n     int
}

// defaultRows fit on a screen.
const defaultRows = 20

// UnmarshalText reads a number of rows.
func (l *RowLimit) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 0 {
		return errors.New("write a number of rows, 0 for all")
	}
	*l = RowLimit{true, n}
	return nil
}

// String writes what UnmarshalText reads, or nothing.
func (l RowLimit) String() string {
	if !l.given {
		return ""
	}
	return strconv.Itoa(l.n)
}

// rows is the limit in force, 0 for none: a program wants them all.
func (l RowLimit) rows(json bool) int {
	if !l.given && !json {
		return defaultRows
	}
	return l.n
}

// headerView is a binlog's header as JSON.
type headerView struct {
	Kind         string   `json:"kind"` // insert or delete
	Collection   int64    `json:"collection,string"`
	Partition    int64    `json:"partition,string"`
	Segment      int64    `json:"segment,string"`
	Field        int64    `json:"field"`
	Type         string   `json:"type"`
	Rows         int64    `json:"rows"`
	MinTS        uint64   `json:"min_ts,string"`
	MaxTS        uint64   `json:"max_ts,string"`
	Bytes        int      `json:"bytes"`
	OriginalSize int64    `json:"original_size"`
	Nullable     bool     `json:"nullable"`
	Codec        string   `json:"codec"`
	Encodings    []string `json:"encodings"`
	CreatedBy    string   `json:"created_by"`
}

func newHeaderView(l *binlog.Log, size int) headerView {
	d := &l.Descriptor
	h := headerView{
		Kind: "insert", Collection: d.Collection, Partition: d.Partition, Segment: d.Segment, Field: d.Field,
		Type: d.Type.String(), Rows: l.Parquet.Rows, MinTS: d.MinTS, MaxTS: d.MaxTS, Bytes: size,
		OriginalSize: d.Extras.OriginalSize, Nullable: d.Extras.Nullable, Codec: l.Parquet.Codec,
		Encodings: l.Parquet.Encodings, CreatedBy: l.Parquet.CreatedBy,
	}
	if l.Deltas != nil {
		h.Kind = "delete"
	}
	return h
}

// plain prints an object that is JSON as it is: key statistics, but also
// documents and manifests.
func (d *dump) plain(data []byte) error {
	if !json.Valid(data) {
		return errors.New("neither a binlog nor JSON")
	}
	if !d.json {
		if done, err := d.statistics(data); done || err != nil {
			return err
		}
	}
	var out bytes.Buffer
	var err error
	if d.json {
		err = json.Compact(&out, data)
	} else {
		err = json.Indent(&out, data, "", "  ")
	}
	if err != nil {
		return err
	}
	return d.out.line(out.Bytes())
}
