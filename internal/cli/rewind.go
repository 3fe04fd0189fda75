package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rs/zerolog"

	"flowgraph/checkpoints"
	"flowgraph/flows"
)

// RewindCommand lets a vchannel be read again from an earlier position.
type RewindCommand struct {
	Brokers Brokers `help:"Kafka brokers; needed with --beginning, where the log begins is asked of them." placeholder:"HOST:PORT,..." group:"Kafka"`
	LoginFlags
	S3Flags
	VChannel  string `name:"vchannel" help:"What is rewound, named <topic>-<partition>." required:"" placeholder:"NAME" group:"Rewind"`
	Beginning bool   `help:"Rewind to the beginning of the log as it is now." group:"Rewind"`
	To        *int64 `help:"Rewind to this offset: one from which a worker began before. Without --yes they are listed." placeholder:"OFFSET" group:"Rewind"`
	Yes       bool   `help:"Do it." group:"Rewind"`
}

// Validate wants one place to go to.
func (c *RewindCommand) Validate() error {
	switch {
	case c.Beginning == (c.To != nil):
		return errors.New("give either --beginning or --to OFFSET")
	case c.Beginning && len(c.Brokers) == 0:
		return errors.New("--beginning needs --brokers: where the log begins is asked of Kafka")
	}
	return errors.Join(c.LoginFlags.Validate(), c.S3Flags.Validate())
}

// Run shows what would be done, and does it if told so.
func (c *RewindCommand) Run(p *Process, log zerolog.Logger) error {
	bucket, err := c.S3Flags.open(p.Stop, log)
	if err != nil {
		return err
	}
	defer bucket.Close()
	doc, err := loadDocument(p.Stop, bucket, c.VChannel)
	if err != nil {
		return err
	}
	v, to, err := c.target(p, doc, log)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "%s, topic ID %s\n", doc.VChannel, doc.TopicID)
	fmt.Fprintf(p.Stdout, "now: %s\n", positionsText(doc))
	fmt.Fprintf(p.Stdout, "to:  epoch %d, read from %d, seek position %d\n", doc.Epoch+1, to.Offset, doc.Rewound(to).Offset)
	fmt.Fprintln(p.Stdout, "Records from there on are read again; what is stored of them is dropped, so nothing doubles.")
	fmt.Fprint(p.Stdout, fencesText)
	if !c.Yes {
		return errNothingChanged
	}
	after, err := checkpoints.Rewind(p.Kill, bucket, v, to)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "done: %s\n", positionsText(after))
	return err
}

// target is where the rewind goes.
func (c *RewindCommand) target(p *Process, doc *checkpoints.Document, log zerolog.Logger) (checkpoints.VChannel, checkpoints.Position, error) {
	v := checkpoints.VChannel{Topic: doc.Topic, Partition: doc.Partition, TopicID: doc.TopicID}
	start := int64(0)
	if len(c.Brokers) > 0 {
		client, explain, err := BrokerFlags{c.Brokers, c.LoginFlags}.connect(p, log, []string{doc.Topic})
		if err != nil {
			return v, checkpoints.Position{}, err
		}
		l, err := flows.DescribeLog(p.Stop, client, doc.Topic, doc.Partition)
		if err != nil {
			return v, checkpoints.Position{}, explain(err)
		}
		v, start = l.VChannel, l.Start
	}
	if c.Beginning {
		return v, checkpoints.Position{Offset: start, LeaderEpoch: -1}, nil
	}
	to, held := doc.Held(*c.To)
	switch {
	case *c.To == doc.ReadFrom.Offset:
		return v, doc.ReadFrom, nil
	case *c.To > doc.ReadFrom.Offset:
		return v, to, fmt.Errorf("--to %d: it reads from %d: %w", *c.To, doc.ReadFrom.Offset, checkpoints.ErrForward)
	case !held:
		return v, to, fmt.Errorf("--to %d is not an offset from which a worker began: a repeated message could be counted twice from there. It may be %s, or --beginning",
			*c.To, heldText(doc))
	case to.Offset < start:
		return v, to, fmt.Errorf("--to %d: the log begins at %d now (--beginning)", *c.To, start)
	}
	return v, to, nil
}

func heldText(doc *checkpoints.Document) string {
	var offsets []string
	for _, b := range doc.Earlier {
		if b.ReadFrom.Offset < doc.ReadFrom.Offset {
			offsets = append(offsets, fmt.Sprint(b.ReadFrom.Offset))
		}
	}
	return strings.Join(append(offsets, fmt.Sprint(doc.ReadFrom.Offset)), ", ")
}
