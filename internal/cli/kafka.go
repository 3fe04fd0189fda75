package cli

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kgo"
)

// BrokerFlags say where Kafka is.
type BrokerFlags struct {
	Brokers Brokers `help:"Kafka brokers to begin with, separated by commas." placeholder:"HOST:PORT,..." group:"Kafka"`
}

// Validate refuses a command without brokers.
func (f BrokerFlags) Validate() error {
	if len(f.Brokers) == 0 {
		return errors.New("--brokers is missing: name at least one Kafka broker, as in --brokers 127.0.0.1:9092")
	}
	return nil
}

// Client is how a client of these brokers is made.
func (f BrokerFlags) Client() []kgo.Opt {
	return []kgo.Opt{kgo.SeedBrokers(f.Brokers...), kgo.ClientID("flowgraph")}
}

// KafkaFlags say where Kafka is and which topics are read.
type KafkaFlags struct {
	BrokerFlags
	Topics Topics `help:"Topics to read, separated by commas: names, regular expressions of whole names (/by-dev-.*-dml_[0-9]+/), or an explicit list of topic:partition." placeholder:"TOPIC,..." group:"Kafka"`
}

// Validate refuses a command without brokers or topics.
func (f KafkaFlags) Validate() error {
	if err := f.BrokerFlags.Validate(); err != nil {
		return err
	}
	if !f.Topics.IsSet() {
		return errors.New("--topics is missing: " + topicsSentence)
	}
	return nil
}
