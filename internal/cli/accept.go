package cli

import (
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/checkpoints"
	"flowgraph/flows"
	"flowgraph/sinks"
)

// AcceptFlags are those of the commands by which an operator lets a vchannel
// go on that a worker has stopped in doubt.
type AcceptFlags struct {
	BrokerFlags
	S3Flags
	VChannel string `name:"vchannel" help:"What goes on, named <topic>-<partition>." required:"" placeholder:"NAME" group:"Accept"`
	Yes      bool   `help:"Do it." group:"Accept"`
}

// Validate refuses a command without brokers or bucket.
func (f *AcceptFlags) Validate() error {
	if err := f.BrokerFlags.Validate(); err != nil {
		return err
	}
	return f.S3Flags.Validate()
}

// dispute is a document and the log of now that it is held against.
type dispute struct {
	doc     *checkpoints.Document
	log     flows.Log
	client  []kgo.Opt
	explain func(error) error // of what brokers answer to that client
}

// look reads the document, and asks Kafka for its topic.
func (f *AcceptFlags) look(p *Process, bucket *sinks.Bucket, log zerolog.Logger) (dispute, error) {
	doc, err := loadDocument(p.Stop, bucket, f.VChannel)
	if err != nil {
		return dispute{}, err
	}
	client, explain, err := f.connect(p, log, []string{doc.Topic})
	if err != nil {
		return dispute{}, err
	}
	l, err := flows.DescribeLog(p.Stop, client, doc.Topic, doc.Partition)
	if err != nil {
		return dispute{}, explain(err)
	}
	return dispute{doc, l, client, explain}, nil
}
