package cli

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"flowgraph/flows"
	"flowgraph/internal/kafka"
)

// BrokerFlags say where Kafka is and how to log in.
type BrokerFlags struct {
	Brokers Brokers `help:"Kafka brokers to begin with, separated by commas." placeholder:"HOST:PORT,..." group:"Kafka"`
	LoginFlags
}

// Validate refuses a command without brokers.
func (f BrokerFlags) Validate() error {
	return errors.Join(
		broken(rule{len(f.Brokers) == 0, "--brokers is missing: name at least one Kafka broker, as in --brokers 127.0.0.1:9092"}),
		f.LoginFlags.Validate())
}

// connectPatience is how long a command waits for Kafka, if its Process does
// not say; the worker waits for ever.
const connectPatience = 10 * time.Second

// connect makes sure that Kafka answers this client, and returns how its
// clients are made and how their errors are explained. Topics given by name
// must be open to it.
func (f BrokerFlags) connect(p *Process, log zerolog.Logger, topics []string) ([]kgo.Opt, func(error) error, error) {
	return connectBy(p, f.LoginFlags.config(f.Brokers, log), log, topics)
}

// connectBy is connect with a login that may say more.
func connectBy(p *Process, cfg kafka.Config, log zerolog.Logger, topics []string) ([]kgo.Opt, func(error) error, error) {
	told := kafka.NewTeller(cfg, log)
	opts, err := cfg.Options(told)
	if err != nil {
		return nil, nil, usageError{err}
	}
	return opts, cfg.Explain, cfg.Await(p.Stop, opts, topics, cmp.Or(p.Patience, connectPatience), told)
}

// client says how clients are made, and what their errors mean.
func (f BrokerFlags) client(log zerolog.Logger) (kafka.Config, []kgo.Opt, error) {
	cfg := f.LoginFlags.config(f.Brokers, log)
	opts, err := cfg.Options(kafka.NewTeller(cfg, log))
	return cfg, opts, err
}

// login puts into a worker's configuration how its clients log in. The
// function that it returns waits until Kafka answers: it may be away for as
// long as it likes, but must not refuse us. Meanwhile it hands on why.
func (c RunConfig) login(cfg *flows.Config, log zerolog.Logger) (await func(stop context.Context, heard func(error)) error, err error) {
	login := c.LoginFlags.config(c.Brokers, log)
	told := kafka.NewTeller(login, log)
	if cfg.Client, err = login.Options(told); err != nil {
		return nil, usageError{err}
	}
	cfg.ClientLog, cfg.Explain = told, login.Explain
	return func(stop context.Context, heard func(error)) error {
		told.Heard = heard
		defer func() { told.Heard = nil }() // the worker's clients tell it themselves
		if err := login.Await(stop, cfg.Client, c.Topics.Asked(), 0, told); err != nil && stop.Err() == nil {
			return err
		}
		return nil
	}, nil
}

// KafkaFlags say where Kafka is and which topics are read.
type KafkaFlags struct {
	BrokerFlags
	Topics Topics `help:"Topics to read, separated by commas: names, regular expressions of whole names (/by-dev-.*-dml_[0-9]+/), or an explicit list of topic:partition." placeholder:"TOPIC,..." group:"Kafka"`
}

// Validate refuses a command without brokers or topics.
func (f KafkaFlags) Validate() error {
	return errors.Join(f.BrokerFlags.Validate(), broken(rule{!f.Topics.IsSet(), "--topics is missing: " + topicsSentence}))
}
